"""Sentences under the table, for a reader who has never seen it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.report.cells import (
    Count,
    Counted,
    Percentage,
    Significant,
    Throughput,
)
from pytest_ansorbench.report.sections import Lines, Sentence
from pytest_ansorbench.stats.bootstrap import RESAMPLES
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.relabellings import fewest_repeats


def legend(columns: Sequence[str], *, criteria: Criteria, repeats: int, cases: int) -> Lines:
    """Explain the columns that are shown.

    Args:
        columns: Keys of the columns shown.
        criteria: How the figures were computed.
        repeats: Seeds per arm.
        cases: Cases in the table; from two on, what stands for all of them is explained.

    Returns:
        One sentence for each column, none for those that explain themselves.
    """
    shown = set(columns)
    sentences: list[Sentence] = [(text,) for key, text in _MEANINGS.items() if key in shown]
    if "search_ratio" in shown:
        sentences.append(_search_ratio(criteria))
    if shown & _targeted(criteria):
        sentences.append(("target: ", *_target(criteria, repeats)))
    if "search_ratio_paper" in shown:
        sentences.append(
            ("target of S_paper: the reference's best, less ", Percentage(criteria.tolerance))
        )
    if shown & _ESTIMATED:
        sentences += [
            *_intervals(shown, criteria, repeats),
            (
                ">=, <=: one side never reached the target, so the ratio is a bound; "
                "n/a: nothing to compare",
            ),
            *(_over_cases(shown, criteria) if cases > 1 else ()),
        ]
    return Lines(tuple(sentences))


def legend_in_brief(columns: Sequence[str], *, criteria: Criteria, repeats: int) -> Lines:
    """Explain the ratios and their intervals, in two sentences at most.

    Args:
        columns: Keys of the columns shown.
        criteria: How the figures were computed.
        repeats: Seeds per arm.
    """
    shown = set(columns)
    ratios: Sentence = ()
    if "search_ratio" in shown:
        ratios += ("S: search time, challenger over reference, below 1 it is faster",)
    if "throughput_ratio" in shown:
        link = "; " if ratios else ""
        ratios += (link, "throughput ratio: of the final kernels, above 1 its are faster")
    return Lines(tuple(filter(None, (ratios, _interval(criteria, repeats) if ratios else ()))))


def _interval(criteria: Criteria, repeats: int) -> Sentence:
    """Whether there are intervals, and of what."""
    fewest = fewest_repeats((1.0 - criteria.confidence) / 2.0)
    confidence = Percentage(criteria.confidence)
    if repeats < fewest:
        return ("[low, high]: none; one of ", confidence, " takes ", Count(fewest), " seeds")
    return ("[low, high]: ", confidence, " interval over ", Counted(repeats, "seed"))


_MEANINGS: Final = {
    "trials": "trials, failed: of all runs of an arm together; search time: mean of a run",
    "time_to_target": (
        "time to target: expected search time until the target is reached, counting all time "
        "of runs that miss it; '(k/n)' if only k of n runs reach it"
    ),
    "search_ratio_paper": "S_paper: as S, to what the reference run of the same seed reached",
    "search_ratio_trials": "S_trials: as S, counted in trials instead of seconds",
    "running_time_ratio": "S to target: time to target, challenger over reference",
    "throughput_ratio": (
        "throughput ratio: final kernels, measured again side by side, challenger over "
        "reference; above 1 the challenger's are faster"
    ),
    "of_peak": (
        "of peak: throughput of the final kernels over what the machine allows at most, by "
        "computing or by moving their arguments once"
    ),
    "over_torch": "over torch: how many times faster than PyTorch's kernel on the same threads",
    "over_numpy": "over numpy: how many times faster than NumPy on the same threads",
    "over_untuned": "over untuned: how many times faster than TVM's code without a search",
    "optimism": (
        "optimism: latency of the final kernel, measured again, over what its search had seen of it"
    ),
    "verdict": (
        "verdict: holds or broken if the whole interval is on one side of the limit, else "
        "undecided; broken only if beyond noise and chance"
    ),
}

_TARGETED: Final = {"time_to_target", "running_time_ratio", "reached"}
_BY_GOAL: Final = {"search_ratio", "search_ratio_trials"}
_HEADINGS: Final = {
    "search_ratio": "S",
    "search_ratio_paper": "S_paper",
    "search_ratio_trials": "S_trials",
    "running_time_ratio": "S to target",
    "throughput_ratio": "throughput ratio",
}
_ESTIMATED: Final = set(_HEADINGS)


def _targeted(criteria: Criteria) -> set[str]:
    """Columns that count the time to the one target."""
    return _TARGETED if criteria.goal.kind == "way" else _TARGETED | _BY_GOAL


def _search_ratio(criteria: Criteria) -> Sentence:
    if criteria.goal.kind != "way":
        return ("S: time to target, challenger over reference; below 1 the challenger is faster",)
    return (
        "S: how many times longer the challenger takes, over targets from ",
        Percentage(criteria.goal.value, Significant(12)),
        " of the reference's gain to its end; below 1 it is faster",
    )


def _target(criteria: Criteria, repeats: int) -> Sentence:
    goal = criteria.goal.target
    if goal.kind == "gflops":
        return (Throughput(goal.value, Significant(6)), " GFLOP/s")
    median = (
        "the median over ",
        Counted(repeats, "seed"),
        " of the reference's best search throughput, less ",
        Percentage(criteria.tolerance),
    )
    if goal.kind == "gain":
        share = Percentage(goal.value, Significant(12))
        return (share, " of the way from the reference's first kernel to ", *median)
    return median


def _looks(criteria: Criteria) -> Sentence:
    """That it was looked more than once."""
    looks = criteria.looks
    if looks is None:
        return ()
    return (
        ", at each of the looks after ",
        Count(looks.least),
        " to ",
        Count(looks.most),
        " repeats",
    )


def _tested(shown: set[str], criteria: Criteria) -> set[str]:
    """The columns whose figures permutation tests give."""
    return shown & ({"throughput_ratio"} | (_BY_GOAL if criteria.goal.kind == "way" else set()))


def _over_cases(shown: set[str], criteria: Criteria) -> Iterator[Sentence]:
    """How several cases make one ratio: by tests, then by means."""
    added = _tested(shown, criteria)
    averaged = [_HEADINGS[key] for key in _HEADINGS if key in shown - added]
    if added:
        yield (
            "all cases: the one ratio that fits their runs best, by a permutation test stratified "
            "by case; '(k of n)' if some could not be compared",
        )
    if averaged:
        yield (
            "all cases, ",
            ", ".join(averaged),
            ": geometric mean over the cases with a plain figure, '(k of n)' if some have none",
        )


def _intervals(shown: set[str], criteria: Criteria, repeats: int) -> Iterator[Sentence]:
    """How intervals came about: those of exact tests, then those of the bootstrap."""
    exact = _tested(shown, criteria)
    resampled = [_HEADINGS[key] for key in _HEADINGS if key in (shown & _ESTIMATED) - exact]
    confidence = Percentage(criteria.confidence)
    fewest = fewest_repeats((1.0 - criteria.confidence) / 2.0)
    if exact and repeats < fewest:
        yield (
            "[low, high]: none, because ",
            Counted(repeats, "seed"),
            " can be dealt out to two arms in ",
            Counted(math.comb(2 * repeats, repeats), "way"),
            " only; ",
            confidence,
            " takes ",
            Count(fewest),
            " seeds",
        )
    elif exact:
        yield (
            "[low, high]: ",
            confidence,
            " interval over ",
            Counted(repeats, "seed"),
            ", all ratios that a permutation test does not reject",
            *_looks(criteria),
        )
    if not resampled:
        return
    yield (
        "[low, high] of ",
        ", ".join(resampled),
        ": ",
        confidence,
        " interval by paired bootstrap, ",
        Counted(RESAMPLES, "resample"),
        *(("; below 5 seeds it covers less than that",) if repeats < 5 else ()),
    )
