"""One test over several cases: labels are put on anew within each, and what they show is added up.

A promise such as "the new search takes 0.75 of the time" is about a suite of cases, and a suite
has more information than any case of it. Each case is a *stratum*: it says how bad the challenger
looks if the true ratio of costs were a given one, with labels as they are and in each relabelling
of its own. These figures, each over its standard deviation over the relabellings of its stratum,
are added up, and relabellings of the strata are combined at random. The test is exact, as that of a
single case is: at the true ratio the runs of a case could as well have been either arm's.
Stratified rank tests: van Elteren 1960; Good 2005, Permutation, Parametric, and Bootstrap Tests of
Hypotheses, section 5.4
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.stats.inversion import BEYOND, STRIDE, last_kept, outermost
from pytest_ansorbench.stats.relabellings import share
from pytest_ansorbench.stats.stratum import Stratum
from pytest_ansorbench.stats.trajectory import Floats

_SEED: Final = 20_230_817
_ALL: Final = 20_000  # up to this number of combinations of relabellings, all of them are tried
_MOST: Final = 400_000
_FEW: Final = 10_000  # combinations that an interval is found by, if there are as many
_TIE: Final = 1e-9
_STEP: Final = 5e-4  # how closely ends are found, as logarithm: a twentieth of a percent
_STRIDES: Final = 5  # beyond a rejected ratio


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """The cases of a suite, at least one."""

    strata: tuple[Stratum, ...]

    @property
    def smallest_chance(self) -> float:
        """The smallest probability that counting can show."""
        return math.exp(-sum(math.log(stratum.relabellings) for stratum in self.strata))

    def log_ratio(self) -> float:
        """The logarithm of the ratio of costs at which the challenger looks neither bad nor good.

        Infinity if it looks bad at any ratio, minus infinity if it looks good at any, NaN if no
        ratio makes a difference.
        """
        low, high = self._range()
        at_low, at_high = self._seen(low), self._seen(high)
        if at_low <= _TIE and at_high >= -_TIE:
            return math.nan
        if at_high > _TIE:
            return math.inf
        if at_low < -_TIE:
            return -math.inf
        if at_low <= _TIE:  # balanced up to a finite ratio, which counts as for a median
            return _middle(*last_kept(lambda ratio: self._seen(ratio) < -_TIE, high, low, _halfway))
        bad = _middle(*last_kept(lambda ratio: self._seen(ratio) > _TIE, low, high, _halfway))
        if at_high >= -_TIE or self._seen(bad + _STEP) < -_TIE:
            return bad
        # Sums are steps: they balance over a stretch, and its middle is taken.
        good = _middle(*last_kept(lambda ratio: self._seen(ratio) < -_TIE, high, low, _halfway))
        return _middle(bad, good)

    def interval(self, inside: float, tail: float) -> tuple[float, float]:
        """Logarithms of the ends of what the test does not reject; infinite where it is all.

        `inside` is among it, from `log_ratio`; `tail` is the probability beyond each end.
        """
        combined = _Combined.of(self.strata, tail, _FEW)
        low, high = self._range()
        inside = min(max(inside, low), high)
        below = _outermost(lambda at: self._chance(combined, at, -1.0) > tail, inside, low)
        above = _outermost(lambda at: self._chance(combined, at, 1.0) > tail, inside, high)
        return -math.inf if below == low else below, math.inf if above == high else above

    def chance(self, log_ratio: float, level: float) -> float:
        """Probability to look at least as bad as seen, if this were the true ratio of costs."""
        combined = _Combined.of(self.strata, level, 2 * _FEW)
        return self._chance(combined, log_ratio, -1.0)

    def _range(self) -> tuple[float, float]:
        """Ratios beyond which nothing changes any more."""
        gaps = np.concatenate([stratum.gaps for stratum in self.strata])
        return float(gaps.min()) - BEYOND, float(gaps.max()) + BEYOND

    def _seen(self, log_ratio: float) -> float:
        return math.fsum(float(found[0]) for _, found in self._standardized(log_ratio))

    def _standardized(self, log_ratio: float) -> Iterator[tuple[int, Floats]]:
        """What each stratum shows, in its own standard deviations; none that shows nothing."""
        for place, stratum in enumerate(self.strata):
            badness = stratum.badness(log_ratio)
            if spread := float(badness[1:].std()):
                yield place, badness / spread

    def _chance(self, combined: _Combined, log_ratio: float, side: float) -> float:
        """Share of combinations that look at least as good (`side` 1) or as bad (-1) as seen."""
        seen, sums = 0.0, np.zeros(combined.picks.shape[1])
        for place, found in self._standardized(log_ratio):
            seen += float(found[0])
            sums += found[1:][combined.picks[place]]
        extreme = int(np.sum(side * sums <= side * seen + _TIE))
        return share(extreme, len(sums), combined.complete)


@dataclass(frozen=True, slots=True, eq=False)
class _Combined:
    """Combinations of the relabellings of several strata."""

    picks: NDArray[np.int16]  # index of each stratum's relabelling, shape (strata, combinations)
    complete: bool  # whether these are all there are

    @classmethod
    def of(cls, strata: Sequence[Stratum], level: float, fewest: int) -> _Combined:
        """All combinations, or so many at random that a level can be told.

        A single stratum knows no more than its own relabellings.
        """
        sizes = [stratum.relabellings for stratum in strata]
        complete = all(stratum.complete for stratum in strata)
        if len(sizes) == 1 or (complete and math.prod(sizes) <= _ALL):
            return cls(np.indices(sizes, dtype=np.int16).reshape(len(sizes), -1), complete)
        wanted = min(_MOST, max(fewest, math.ceil(20.0 / level)))
        generator = np.random.default_rng(_SEED)
        picks = [generator.integers(size, size=wanted, dtype=np.int16) for size in sizes]
        return cls(np.stack(picks), False)


def _outermost(kept: Callable[[float], bool], inside: float, beyond: float) -> float:
    """The last ratio that is kept on the way out; `beyond` if all are."""
    width = abs(beyond - inside)
    stride = math.copysign(STRIDE, beyond - inside)
    reach = stride
    # Ends are near, compared with the range: the first ratio that is rejected is soon found.
    while abs(reach) < width and kept(inside + reach):
        reach *= 2.0
    far = inside + reach if abs(reach) < width else beyond

    def ahead(end: float, rejected: float) -> Iterator[tuple[float, float]]:
        for strides in range(_STRIDES, 0, -1):
            ratio = _middle(end, rejected) + stride * strides
            if abs(ratio - inside) < width:
                yield ratio, ratio + stride

    return _middle(*outermost(kept, inside, far, _halfway, ahead))


def _halfway(one: float, other: float) -> float | None:
    return _middle(one, other) if abs(other - one) > _STEP else None


def _middle(one: float, other: float) -> float:
    return (one + other) / 2.0
