"""One test over several cases: labels are relabelled within each, and what they show is added up.

A promise such as "the new search takes 0.75 of the time" is about a suite of cases, and a suite
has more information than any case of it. Each case is a *stratum*: it says how bad the challenger
looks if the true ratio of costs were a given one, as labels are and in each relabelling of its
own. These
figures, each over its standard deviation over the relabellings of its stratum, are added up, and
relabellings of
the strata are combined at random. The test is exact, as that of a single case is: at the true
ratio the runs of a case could as well have been either arm's.
Stratified rank tests: van Elteren 1960; Good 2005, Permutation, Parametric, and Bootstrap Tests of
Hypotheses, section 5.4
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.stats.relabellings import share
from pytest_ansorbench.stats.trajectory import Floats

_SEED: Final = 20_230_817
_ALL: Final = 20_000  # up to this number of combinations of relabellings, all of them are tried
_MOST: Final = 400_000
_FEW: Final = 10_000  # combinations that an interval is found by, if there are as many
_TIE: Final = 1e-9
# How closely the ends of an interval are found, as logarithm: a twentieth of a percent
_STEP: Final = 5e-4
_STRIDE: Final = 0.02
# So far is it looked for ratios that are kept beyond one that is rejected: a tenth
_LOOKS_AHEAD: Final = 5
# How far beyond all pairs of runs the outermost ratios lie that are tested, as logarithm
_BEYOND: Final = 1.0


class Stratum(Protocol):
    """One case."""

    @property
    def complete(self) -> bool:
        """Whether its relabellings are all there are."""
        ...

    @property
    def relabellings(self) -> int:
        """How many relabellings it has."""
        ...

    @property
    def gaps(self) -> Floats:
        """Logarithms of ratios of costs between pairs of runs, where its figures change."""
        ...

    def badness(self, log_ratio: float) -> Floats:
        """How much worse the challenger looks than at a ratio of costs; 0 if just as good.

        Returns: As labelled, then in each of the relabellings, shape (1 + relabellings,).
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """The cases of a suite."""

    strata: tuple[Stratum, ...]  # at least one

    @property
    def smallest_chance(self) -> float:
        """The smallest probability that counting can show."""
        return math.exp(-sum(math.log(stratum.relabellings) for stratum in self.strata))

    def log_ratio(self) -> float:
        """The one ratio of costs at which the challenger looks neither bad nor good.

        Returns: Its logarithm: infinity if the challenger looks bad at any ratio, minus infinity if
        it looks good at any, NaN if no ratio makes a difference.
        """
        low, high = self._range()
        at_low, at_high = self._seen(low), self._seen(high)
        if at_low <= _TIE and at_high >= -_TIE:
            return math.nan
        if at_high > _TIE:
            return math.inf
        if at_low < -_TIE:
            return -math.inf
        bad = _last(lambda ratio: self._seen(ratio) > _TIE, low, high)
        if self._seen(bad + _STEP) < -_TIE:
            return bad
        # Sums are steps: they balance over a stretch, and its middle is taken.
        good = _last(lambda ratio: self._seen(ratio) < -_TIE, high, low)
        return (bad + good) / 2.0

    def interval(self, inside: float, tail: float) -> tuple[float, float]:
        """All ratios that the test does not reject, from one that is among them, outwards.

        Returns: Logarithms of the ends; infinite where the test rejects nothing.
        """
        combined = _Combined.of(self.strata, tail, _FEW)
        low, high = self._range()
        inside = min(max(inside, low), high)

        def kept(ratio: float, side: float) -> bool:
            return self._chance(combined, ratio, side) > tail

        below = _outermost(lambda ratio: kept(ratio, -1.0), inside, low)
        above = _outermost(lambda ratio: kept(ratio, 1.0), inside, high)
        return -math.inf if below == low else below, math.inf if above == high else above

    def chance(self, log_ratio: float, level: float) -> float:
        """Probability to look at least as bad as seen, if this were the true ratio of costs."""
        combined = _Combined.of(self.strata, level, 2 * _FEW)
        return self._chance(combined, log_ratio, -1.0)

    def _range(self) -> tuple[float, float]:
        """Ratios beyond which nothing changes any more."""
        gaps = [stratum.gaps for stratum in self.strata]
        return (
            min(float(of.min()) for of in gaps) - _BEYOND,
            max(float(of.max()) for of in gaps) + _BEYOND,
        )

    def _seen(self, log_ratio: float) -> float:
        return math.fsum(float(found[0]) for _, found in self._standardized(log_ratio))

    def _standardized(self, log_ratio: float) -> Iterator[tuple[int, Floats]]:
        """What each stratum shows, in its own standard deviations; none that shows nothing."""
        for place, stratum in enumerate(self.strata):
            badness = stratum.badness(log_ratio)
            spread = float(badness[1:].std())
            if spread:
                yield place, badness / spread

    def _chance(self, combined: _Combined, log_ratio: float, side: float) -> float:
        """Share of combinations that look at least as good (`side` 1) or as bad (-1) as seen."""
        seen, sums = 0.0, np.zeros(combined.size)
        for place, found in self._standardized(log_ratio):
            seen += float(found[0])
            sums += found[1:][combined.deals_of(place)]
        extreme = int(np.sum(side * sums <= side * seen + _TIE))
        return share(extreme, combined.size, combined.complete)


@dataclass(frozen=True, slots=True, eq=False)
class _Combined:
    """Combinations of the relabellings of several strata."""

    # Index of the relabelling of each stratum, shape (strata, combinations)
    picks: NDArray[np.int16]
    complete: bool  # whether these are all there are

    @classmethod
    def of(cls, strata: Sequence[Stratum], level: float, fewest: int) -> _Combined:
        """All combinations, or so many at random that a level can be told."""
        sizes = [stratum.relabellings for stratum in strata]
        if all(stratum.complete for stratum in strata) and math.prod(sizes) <= _ALL:
            return cls(np.indices(sizes, dtype=np.int16).reshape(len(sizes), -1), True)
        wanted = min(_MOST, max(fewest, math.ceil(20.0 / level)))
        generator = np.random.default_rng(_SEED)
        picks = [generator.integers(size, size=wanted, dtype=np.int16) for size in sizes]
        return cls(np.stack(picks), False)

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return int(self.picks.shape[1])

    def deals_of(self, stratum: int) -> NDArray[np.int16]:
        """Index of one stratum's relabelling in each combination, shape (combinations,)."""
        found: NDArray[np.int16] = self.picks[stratum]
        return found


def _outermost(kept: Callable[[float], bool], inside: float, beyond: float) -> float:
    """The last ratio that is kept, where a ratio may be rejected and one shortly after be kept."""
    stride = math.copysign(_STRIDE, beyond - inside)
    reach = stride
    # Ends are near, compared with the range: the first ratio that is rejected is soon found.
    while abs(reach) < abs(beyond - inside) and kept(inside + reach):
        reach *= 2.0
    far = inside + reach if abs(reach) < abs(beyond - inside) else beyond
    end = _last(kept, inside, far)
    ahead = [end + stride * step for step in range(_LOOKS_AHEAD, 0, -1)]
    for ratio in ahead:
        if abs(ratio - inside) < abs(beyond - inside) and kept(ratio):
            return _last(kept, ratio, ratio + stride)
    return end


def _last(holds: Callable[[float], bool], first: float, beyond: float) -> float:
    """The last place, on the way from one to another, where something holds that does at first."""
    if holds(beyond):
        return beyond
    while abs(beyond - first) > _STEP:
        middle = (first + beyond) / 2.0
        if holds(middle):
            first = middle
        else:
            beyond = middle
    return (first + beyond) / 2.0
