"""Sentences under the table, for a reader who has never seen it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_ansorbench.records import Implementation
from pytest_ansorbench.report.columns import COLUMNS, over_key
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.wording import counted, percent_text
from pytest_ansorbench.stats.bootstrap import RESAMPLES
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import EARLY
from pytest_ansorbench.stats.relabellings import fewest_repeats
from pytest_ansorbench.stats.suite import RATIOS


def legend(
    columns: Sequence[str], *, criteria: Criteria, repeats: Sequence[int], cases: int
) -> Lines:
    """Explain the columns that are shown, given by their keys.

    `repeats` are seeds of an arm, of each case that has any; from two cases on, what stands for all
    of them is explained.
    """
    shown = set(columns)
    sentences = [text for key, text in _MEANINGS.items() if key in shown]
    if "search_ratio" in shown:
        sentences.append(_search_ratio(criteria))
        sentences.append("a run that ended without a throughput is later there than any other")
    if shown & _TARGETED:
        sentences.append(f"target: {_target(criteria, repeats)}")
    if "search_ratio_paper" in shown:
        tolerance = percent_text(criteria.tolerance)
        sentences.append(f"target of S_paper: the reference's best, less {tolerance}")
    if shown & {*RATIOS}:
        sentences += _intervals(shown, criteria, repeats)
        sentences.append(
            ">=, <=: most pairs have a run of one side that never got there, so the ratio is a "
            "bound; n/a: nothing to compare"
        )
        if cases > 1:
            sentences += _over_cases(shown)
    return Lines.of(sentences)


def legend_in_brief(columns: Sequence[str], *, criteria: Criteria, repeats: Sequence[int]) -> Lines:
    """Explain the ratios and their intervals, in two sentences at most."""
    ratios = [text for key, text in _IN_BRIEF.items() if key in columns]
    if not ratios:
        return Lines(())
    return Lines(("; ".join(ratios), _interval(criteria, repeats)))


_IN_BRIEF: Final = {
    "search_ratio": "S: search time to the reference's upper throughputs, below 1 it is sooner",
    "throughput_ratio": "throughput ratio: of the final kernels, above 1 its are faster",
}


def _interval(criteria: Criteria, repeats: Sequence[int], how: str = "") -> str:
    """Of what there are intervals, how they came about, and which cases have none."""
    fewest = fewest_repeats((1.0 - criteria.confidence) / 2.0)
    none = f"; none for cases of fewer than {fewest} seeds"
    told = f"{percent_text(criteria.confidence)} interval over {_seeds(repeats)}{how}"
    return f"[low, high]: {told}{none if min(repeats, default=0) < fewest else ''}"


def _seeds(repeats: Sequence[int]) -> str:
    """`5 seeds`, or `3 to 5 seeds` where cases differ."""
    least, most = min(repeats, default=0), max(repeats, default=0)
    return f"{least} to {counted(most, 'seed')}" if least < most else counted(most, "seed")


_LIBRARIES: Final[Mapping[Implementation, str]] = {
    "torch": "PyTorch",
    "torch-compile": "PyTorch's Inductor",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "numpy": "NumPy",
}

_MEANINGS: Final = {
    "trials": "trials, failed: of all runs of an arm together; search time: mean of a run",
    "time_to_target": (
        "time to target: expected search time until the target is reached, counting all time "
        "of runs that miss it; '(k/n)' if only k of n runs reach it"
    ),
    "search_ratio_early": (
        f"S_early: as S, from {percent_text(EARLY.low)} of the reference's gain to "
        f"{percent_text(EARLY.high)}: the way to a first good kernel"
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
    **{
        over_key(library): f"over {library}: how many times faster than {name} on the same threads"
        for library, name in _LIBRARIES.items()
    },
    "over_untuned": "over untuned: how many times faster than TVM's code without a schedule",
    "over_first": "over first: how many times faster than the first candidate of TVM's rules",
    "optimism": (
        "optimism: latency of the final kernel, measured again, over what its search had seen of it"
    ),
    "verdict": (
        "verdict: holds or broken if the whole interval is on one side of the limit, else "
        "undecided; broken only if beyond noise and chance"
    ),
}

_TARGETED: Final = {"time_to_target", "running_time_ratio", "reached"}
_TESTED: Final = {"search_ratio", "search_ratio_early", "search_ratio_trials", "throughput_ratio"}
"""Columns whose figures permutation tests give."""


def _search_ratio(criteria: Criteria) -> str:
    goal = criteria.goal
    if goal.gflops is not None:
        part = f"until it has {goal.gflops:.6g} GFLOP/s"
    elif goal.single:
        part = f"to {percent_text(goal.low, 12)} of the reference's gain"
    else:
        part = f"from {percent_text(goal.low, 12)} of the reference's gain to its end"
    return f"S: how many times longer the challenger takes, {part}; below 1 it is sooner"


def _target(criteria: Criteria, repeats: Sequence[int]) -> str:
    goal = criteria.goal
    if goal.gflops is not None:
        return f"{goal.gflops:.6g} GFLOP/s"
    median = (
        f"the median over {_seeds(repeats)} of the reference's best search throughput, "
        f"less {percent_text(criteria.tolerance)}"
    )
    if goal.high == 1.0:
        return median
    share = percent_text(goal.high, 12)
    return f"{share} of the way from the reference's first kernel to {median}"


def _looks(criteria: Criteria) -> str:
    """That it was looked more than once."""
    looks = criteria.looks
    if looks is None or looks.if_suspect:
        return ""
    return f", at each of the looks after {looks.least} to {looks.most} repeats"


def _headings(shown: set[str]) -> str:
    """Those of ratios, in their order."""
    return ", ".join(COLUMNS[key].column.heading for key in RATIOS if key in shown)


def _over_cases(shown: set[str]) -> Iterator[str]:
    """How several cases make one ratio: by tests, then by means."""
    added = shown & _TESTED
    averaged = _headings(shown - added)
    if added:
        yield (
            "all cases: the one ratio that fits their runs best, by a permutation test stratified "
            "by case; '(k of n)' if some could not be compared"
        )
    if averaged:
        yield (
            f"all cases, {averaged}: geometric mean over the cases with a plain figure, "
            "'(k of n)' if some have none"
        )


def _intervals(shown: set[str], criteria: Criteria, repeats: Sequence[int]) -> Iterator[str]:
    """How intervals came about: those of exact tests, then those of the bootstrap."""
    exact = shown & _TESTED
    resampled = _headings(shown - exact)
    if exact:
        how = f", all ratios that a permutation test does not reject{_looks(criteria)}"
        yield _interval(criteria, repeats, how)
    if resampled:
        few = "; below 5 seeds it covers less than that" if min(repeats, default=0) < 5 else ""
        yield (
            f"[low, high] of {resampled}: {percent_text(criteria.confidence)} interval by paired "
            f"bootstrap, {counted(RESAMPLES, 'resample')}{few}"
        )
