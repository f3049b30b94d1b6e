"""What a result read from a file has to satisfy beyond its types.

Statistics and reports take these for granted: a median needs a sample, a ratio a latency
above 0. In a result that was measured they hold by construction.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Final

from pytest_ansorbench.codec import CodecError
from pytest_ansorbench.records import CaseResult, LastRanking, Remeasurement, Result, Run, Trial


def check_result(result: Result) -> None:
    """Check the values of a result.

    Raises:
        CodecError: A value contradicts another one, or is out of range.
    """
    for index, case in enumerate(result.cases):
        _check_case(case, f"cases[{index}]")
        for place, run in enumerate(case.runs):
            if run.machine not in result.machines:
                expected = f"one of the result's machines, {', '.join(result.machines)}"
                raise CodecError(f"cases[{index}].runs[{place}].machine", run.machine, expected)


def _check_case(case: CaseResult, where: str) -> None:
    if len(set(case.strategies)) != len(case.strategies):
        raise CodecError(f"{where}.strategies", case.strategies, "each strategy once")
    for index, run in enumerate(case.runs):
        at = f"{where}.runs[{index}]"
        if run.case != case.case:
            raise CodecError(f"{at}.case", run.case, f"the case {case.case!r} that it is part of")
        if run.strategy not in case.strategies:
            expected = f"one of the case's strategies, {', '.join(case.strategies)}"
            raise CodecError(f"{at}.strategy", run.strategy, expected)
        _check_run(run, at)
    challengers = case.strategies[1:]
    if case.control is not None and case.control not in challengers:
        expected = f"null or one of the challengers, {', '.join(challengers)}"
        raise CodecError(f"{where}.control", case.control, expected)
    for index, verdict in enumerate(case.verdicts):
        comparison, at = verdict.comparison, f"{where}.verdicts[{index}].comparison"
        if comparison.challenger.strategy not in challengers:
            expected = f"one of the challengers, {', '.join(challengers)}"
            raise CodecError(f"{at}.challenger.strategy", comparison.challenger.strategy, expected)


def _check_run(run: Run, where: str) -> None:
    if not 1 <= run.flops <= _MOST_FLOPS:
        raise CodecError(f"{where}.flops", run.flops, f"from 1 to {_MOST_FLOPS:.0e}")
    if not run.tasks:
        raise CodecError(f"{where}.tasks", run.tasks, "at least one task")
    for index, task in enumerate(run.tasks):
        if not 1 <= task.weight <= _MOST_CALLS:
            at = f"{where}.tasks[{index}].weight"
            raise CodecError(at, task.weight, f"from 1 to {_MOST_CALLS:.0e}")
    for index, round_ in enumerate(run.rounds):
        if not 0 <= round_.task < len(run.tasks):
            at = f"{where}.rounds[{index}].task"
            raise CodecError(at, round_.task, f"one of the run's {len(run.tasks)} tasks, from 0")
        for phase in ("propose_s", "build_s", "run_s", "learn_s"):
            _check_seconds(getattr(round_, phase), f"{where}.rounds[{index}].{phase}")
    if len(run.tasks) > 1:
        _check_rounds(run, where)
    for index, trial in enumerate(() if _all_fit(run.trials) else run.trials):
        _check_seconds(trial.search_s, f"{where}.trials[{index}].search_s")
        if not _samples_fit(trial):
            at = f"{where}.trials[{index}].latencies_s"
            raise CodecError(at, trial.latencies_s, _expected_samples(trial))
    if run.final is not None and not _samples_fit(run.final):
        at = f"{where}.final.latencies_s"
        raise CodecError(at, run.final.latencies_s, _expected_samples(run.final))
    if run.last_check is not None:
        _check_ranking(run.last_check, run, f"{where}.last_check")


def _check_ranking(ranking: LastRanking, run: Run, where: str) -> None:
    """A crowned trial is there, valid, and of its task."""
    _check_seconds(ranking.check_s, f"{where}.check_s")
    for index, checked in enumerate(ranking.tasks):
        at = f"{where}.tasks[{index}]"
        if not 0 <= checked.task < len(run.tasks):
            expected = f"one of the run's {len(run.tasks)} tasks, from 0"
            raise CodecError(f"{at}.task", checked.task, expected)
        if not 0 <= checked.crowned < len(run.trials):
            expected = f"one of the run's {len(run.trials)} trials, from 0"
            raise CodecError(f"{at}.crowned", checked.crowned, expected)
        if run.trials[checked.crowned].status != "ok":
            raise CodecError(f"{at}.crowned", checked.crowned, "a valid trial")
        for place, compared in enumerate(checked.compared):
            if not _samples_fit(compared):
                path = f"{at}.compared[{place}].latencies_s"
                raise CodecError(path, compared.latencies_s, _expected_samples(compared))


def _check_rounds(run: Run, where: str) -> None:
    """A trial's round says which task it is of."""
    for index, trial in enumerate(run.trials):
        if not 1 <= trial.round <= len(run.rounds):
            expected = f"one of the run's {len(run.rounds)} rounds, from 1"
            raise CodecError(f"{where}.trials[{index}].round", trial.round, expected)


def _check_seconds(seconds: float, where: str) -> None:
    if not 0.0 <= seconds <= _MOST_SECONDS:
        raise CodecError(where, seconds, f"seconds from 0 to {_MOST_SECONDS:.0e}")


def _all_fit(trials: Sequence[Trial]) -> bool:
    """Whether times and samples of many trials fit, told several times as fast as one by one."""
    times = [trial.search_s for trial in trials]
    valid = [trial.latencies_s for trial in trials if trial.status == "ok"]
    samples = list(itertools.chain.from_iterable(valid))
    total = sum(map(len, map(operator.attrgetter("latencies_s"), trials)))
    if not all(valid) or total != len(samples):
        return False
    return (not times or (min(times) >= 0.0 and max(times) <= _MOST_SECONDS)) and (
        not samples or (min(samples) >= _LEAST_LATENCY_S and max(samples) <= _MOST_SECONDS)
    )


def _samples_fit(measured: Trial | Remeasurement) -> bool:
    if measured.status != "ok":
        return not measured.latencies_s
    samples = measured.latencies_s
    return bool(samples) and min(samples) >= _LEAST_LATENCY_S and max(samples) <= _MOST_SECONDS


def _expected_samples(measured: Trial | Remeasurement) -> str:
    if measured.status == "ok":
        return (
            f"at least one sample, all from {_LEAST_LATENCY_S:.0e} to {_MOST_SECONDS:.0e} seconds, "
            "for status 'ok'"
        )
    return f"no samples for status {measured.status!r}"


_MOST_SECONDS: Final = 1e9
"""Thirty years: nobody's search, and far from where sums overflow."""
_LEAST_LATENCY_S: Final = 1e-12
_MOST_FLOPS: Final = 10**24
_MOST_CALLS: Final = 10**9
