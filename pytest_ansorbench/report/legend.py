"""Sentences under the table, for a reader who has never seen it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_ansorbench.report.cells import (
    Counted,
    Percentage,
    Significant,
    Throughput,
)
from pytest_ansorbench.report.sections import Lines, Sentence
from pytest_ansorbench.stats.bootstrap import RESAMPLES
from pytest_ansorbench.stats.criteria import Criteria


def legend(columns: Sequence[str], *, criteria: Criteria, repeats: int) -> Lines:
    """Explain the columns that are shown.

    Args:
        columns: Keys of the columns shown.
        criteria: How the figures were computed.
        repeats: Seeds per arm.

    Returns:
        One sentence for each column, none for those that explain themselves.
    """
    shown = set(columns)
    sentences: list[Sentence] = [(text,) for key, text in _MEANINGS.items() if key in shown]
    if shown & _TARGETED:
        sentences.append(("target: ", *_target(criteria, repeats)))
    if "search_ratio_paper" in shown:
        sentences.append(
            ("target of S_paper: the reference's best, less ", Percentage(criteria.tolerance))
        )
    if shown & _ESTIMATED:
        sentences += [
            _interval(criteria.confidence, repeats),
            (
                ">=, <=: one side never reached the target, so the ratio is a bound; "
                "n/a: nothing to compare",
            ),
            ("geometric mean: over the cases with a plain figure; '(k of n)' if some have none",),
        ]
    return Lines(tuple(sentences))


_MEANINGS: Final = {
    "trials": "trials, failed: of all runs of an arm together; search time: mean of a run",
    "time_to_target": (
        "time to target: expected search time until the target is reached, counting all time "
        "of runs that miss it; '(k/n)' if only k of n runs reach it"
    ),
    "search_ratio": (
        "S: time to target, challenger over reference; below 1 the challenger is faster"
    ),
    "search_ratio_paper": "S_paper: as S, to what the reference run of the same seed reached",
    "search_ratio_trials": "S_trials: as S, counted in trials instead of seconds",
    "throughput_ratio": (
        "throughput ratio: final kernels, measured again side by side, challenger over "
        "reference; above 1 the challenger's are faster"
    ),
    "optimism": (
        "optimism: latency of the final kernel, measured again, over what its search had seen of it"
    ),
    "verdict": (
        "verdict: holds or broken if the whole interval is on one side of the limit, else "
        "undecided; broken only if beyond noise and chance"
    ),
}

_TARGETED: Final = {"time_to_target", "search_ratio", "search_ratio_trials", "reached"}
_ESTIMATED: Final = {
    "search_ratio",
    "search_ratio_paper",
    "search_ratio_trials",
    "throughput_ratio",
}


def _target(criteria: Criteria, repeats: int) -> Sentence:
    goal = criteria.goal
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


def _interval(confidence: float, repeats: int) -> Sentence:
    if repeats < 2:
        return ("[low, high]: unknown, because one seed proves nothing; ask for more repeats",)
    caution = "; below 5 seeds it covers less than that" if repeats < 5 else ""
    return (
        "[low, high]: ",
        Percentage(confidence),
        " interval over ",
        Counted(repeats, "seed"),
        " (paired bootstrap, ",
        Counted(RESAMPLES, "resample"),
        ")",
        caution,
    )
