"""Words under the table, for a reader who has never seen it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_ansorbench.stats.bootstrap import RESAMPLES
from pytest_ansorbench.stats.criteria import Criteria


def legend(columns: Sequence[str], *, criteria: Criteria, repeats: int) -> tuple[str, ...]:
    """Explain the columns that are shown.

    Args:
        columns: Keys of the columns shown.
        criteria: What the figures were computed by.
        repeats: Seeds per arm.

    Returns:
        One sentence each; columns that explain themselves have none.
    """
    shown = set(columns)
    lines = [text for key, text in _MEANINGS.items() if key in shown]
    if shown & _TARGETED:
        lines.append(f"target: {_target(criteria, repeats)}")
    if "search_ratio_paper" in shown:
        lines.append(
            f"target of S_paper: the reference's best, less {_percent(criteria.tolerance)}"
        )
    if shown & _ESTIMATED:
        lines.append(_interval(criteria.confidence, repeats))
        lines.append(
            ">=, <=: one side never reached the target, so the ratio is a bound; "
            "n/a: nothing to compare"
        )
        lines.append(
            "geometric mean: over the cases with a plain figure; '(k of n)' if some have none"
        )
    return tuple(lines)


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


def _target(criteria: Criteria, repeats: int) -> str:
    if criteria.goal.kind == "gflops":
        return f"{criteria.goal.value:g} GFLOP/s"
    median = (
        f"the median over {_seeds(repeats)} of the reference's best search throughput, less "
        f"{_percent(criteria.tolerance)}"
    )
    if criteria.goal.kind == "gain":
        return f"{criteria.goal} of the way from the reference's first kernel to {median}"
    return median


def _interval(confidence: float, repeats: int) -> str:
    if repeats < 2:
        return "[low, high]: unknown, because one seed proves nothing; ask for more repeats"
    caution = "; below 5 seeds it covers less than that" if repeats < 5 else ""
    return (
        f"[low, high]: {_percent(confidence)} interval over {_seeds(repeats)} "
        f"(paired bootstrap, {RESAMPLES:,} resamples){caution}"
    )


def _seeds(repeats: int) -> str:
    return "1 seed" if repeats == 1 else f"{repeats} seeds"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:g}%"
