"""Labels of runs, put on anew: how often chance alone makes two arms differ as much as they do.

A bootstrap interval over five seeds leaves out more than it says, and a gate that fails on it
would cry wolf. If the challenger were exactly as good as its limit, then its runs, with their
figures scaled by the limit, could as well have been the reference's. So the labels are put on anew,
in every possible way or in very many, and a test counts how often that looks at least as bad. The
count is exact for any number of seeds and any distribution.
Fisher 1935; Ernst 2004, Permutation Methods, https://doi.org/10.1214/088342304000000396

Runs are relabelled across seeds: five pairs can be swapped in 32 ways only, and 3% would be the
smallest probability. What the arms of a seed have in common makes them more alike than relabelled
ones, so that the test then alarms less often than stated, never more.

Five seeds an arm have 252 relabellings, so no figure can look less likely than 0.4%, which would
never do in a session of many gates. Where counting ends, with the worst relabelling of all or the
worst exchange within pairs, `sharpened` goes on with Student's t.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from pytest_ansorbench.stats.trajectory import Floats

# Indices of runs: the first group's, then the second's; shape (relabellings, runs)
Relabellings = NDArray[np.intp]

# 1 where the arms of a seed stay, -1 where they are exchanged; shape (ways, seeds)
Signs = NDArray[np.int8]

_SEED: Final = 20_230_817
# Up to this number of relabellings, all of them are tried: up to eight seeds
_EXHAUSTIVE: Final = 20_000
_CHUNK: Final = 20_000
_MOST: Final = 1_000_000
# Relabellings that an interval is found by, if there are as many: its ends take some 20 tests
_FEW: Final = 4_000


def smallest_chance(first: int, second: int) -> float:
    """The smallest probability that groups of these sizes can show: one relabelling of all."""
    return 1.0 / math.comb(first + second, first)


def fewest_repeats(tail: float, cases: int = 1, others: int | None = None) -> int:
    """How many runs an arm needs for a relabelling to be as rare as the tail of an interval.

    `others` are the runs of the other arm; None if it gets as many.
    """
    return next(n for n in itertools.count(1) if smallest_chance(n, others or n) ** cases <= tail)


def swaps_tell(pairs: int, level: float) -> bool:
    """Whether exchanging the arms of seeds can show a probability as small as half of a level."""
    return 2.0**-pairs <= level / 2.0


def relabelled(first: int, second: int, level: float) -> Iterator[Relabellings]:
    """All relabellings of two groups of runs, or so many that a level can be told; in portions."""
    if math.comb(first + second, first) <= _EXHAUSTIVE:
        yield _all(first, second)
        return
    generator = np.random.default_rng(_SEED)
    wanted = min(_MOST, max(_CHUNK, math.ceil(20.0 / level)))
    for start in range(0, wanted, _CHUNK):
        yield _drawn(first + second, min(_CHUNK, wanted - start), generator)


@lru_cache(maxsize=16)
def some_relabellings(
    first: int, second: int, tail: float, most: int = _FEW
) -> tuple[Relabellings, bool]:
    """Relabellings of two groups of runs, few enough to look at them again and again."""
    size = max(most, math.ceil(20.0 / tail))
    if math.comb(first + second, first) <= size:
        relabellings = _all(first, second)
    else:
        relabellings = _drawn(first + second, size, np.random.default_rng(_SEED))
    relabellings.flags.writeable = False  # handed out again and again
    return relabellings, math.comb(first + second, first) == len(relabellings)


@lru_cache(maxsize=16)
def exchanges(pairs: int, level: float, most: int = _EXHAUSTIVE) -> tuple[Signs, bool]:
    """Ways to exchange the arms of some seeds and not of the others."""
    size = min(_MOST, max(most, math.ceil(20.0 / level)))
    if 2**pairs <= size:
        signs = np.array(list(itertools.product([1, -1], repeat=pairs)), dtype=np.int8)
    else:
        kept = np.random.default_rng(_SEED).random((size, pairs)) < 0.5
        signs = np.where(kept, 1, -1).astype(np.int8)
    signs.flags.writeable = False  # handed out again and again
    return signs, len(signs) == 2**pairs


def share(as_bad: int, relabellings: int, complete: bool) -> float:
    """Probability by counting; of relabellings drawn at random, what was seen is one more."""
    return as_bad / relabellings if complete else (1 + as_bad) / (1 + relabellings)


def permutation_chance(
    badness: Callable[[Relabellings], Floats], first: int, second: int, level: float
) -> float:
    """Share of the relabellings that look at least as bad as the labels as they are."""
    seen = badness(np.arange(first + second)[np.newaxis, :])[0]
    # Sums in another order differ in their last digits, and ties must count.
    threshold = seen - 1e-9 * abs(seen) if np.isfinite(seen) else seen
    worse = total = 0
    for labels in relabelled(first, second, level):
        # What cannot be compared (NaN) counts against an alarm.
        worse += int(np.sum(~(badness(labels) < threshold)))
        total += len(labels)
    return share(worse, total, total == math.comb(first + second, first))


def sharpened(
    counted: float, smallest: float, fewest: int, level: float, excess: float, error: float | None
) -> float:
    """A probability below the smallest that counting can show, where that is not small enough.

    It is the tail of Student's t with the degrees of freedom of the smaller group, of `fewest`
    runs, for an `excess` of the log figure over its limit with a standard `error`. An infinitely
    bad figure, such as that of a challenger without a kernel, is no matter of chance.
    """
    if excess == math.inf:
        return 0.0
    if level >= smallest or counted > smallest * 1.5 or error is None or fewest < 2:
        return counted
    t = excess / error if error > 0.0 else math.inf
    return min(counted, float(stdtr(fewest - 1, -t)))


def _all(first: int, second: int) -> Relabellings:
    runs = first + second
    chosen = np.array(list(itertools.combinations(range(runs), first)), dtype=np.intp)
    mine = np.zeros((len(chosen), runs), dtype=bool)
    np.put_along_axis(mine, chosen, True, axis=1)
    return np.argsort(~mine, axis=1, kind="stable")


def _drawn(runs: int, size: int, generator: np.random.Generator) -> Relabellings:
    return generator.permuted(np.broadcast_to(np.arange(runs), (size, runs)), axis=1)
