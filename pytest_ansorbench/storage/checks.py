"""What a result or a journal read from a file has to satisfy beyond its types.

Statistics and reports take these for granted: a median needs a sample, a ratio a latency
above 0. In a result that was measured they hold by construction.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Final

from pytest_ansorbench.codec import CodecError
from pytest_ansorbench.records import (
    CaseResult,
    LastRanking,
    NoiseTrace,
    Remeasurement,
    Result,
    Run,
    Shards,
    Trial,
    Yardsticks,
)
from pytest_ansorbench.storage.entries import (
    Entry,
    FinalEntry,
    LastCheckEntry,
    NoiseEntry,
    YardsticksEntry,
)


def check_result(result: Result) -> None:
    """Check the values of a result.

    Raises:
        CodecError: A value contradicts another one, or is out of range.
    """
    for index, case in enumerate(result.cases):
        _check_case(case, f"cases[{index}]")
        for place, run in enumerate(case.runs):
            _check_machine(run.machine, result, f"cases[{index}].runs[{place}].machine")
        for place, found in enumerate(case.yardsticks):
            at = f"cases[{index}].yardsticks[{place}]"
            _check_machine(found.machine, result, f"{at}.machine")
            _check_yardsticks(found, at)
    if result.shards is not None:
        _check_shards(result.shards)
    for index, noise in enumerate(result.noise):
        _check_machine(noise.machine, result, f"noise[{index}].machine")
        check_trace(noise.trace, f"noise[{index}].trace")


def check_trace(trace: NoiseTrace, where: str) -> None:
    """Check what was seen of a machine's noise.

    Args:
        trace: The slices.
        where: Path to them, for the error.

    Raises:
        CodecError: A value contradicts another one, or is out of range.
    """
    for name in ("slice_s", "elapsed_s"):
        if not _LEAST_LATENCY_S <= getattr(trace, name) <= _MOST_SECONDS:
            expected = f"seconds from {_LEAST_LATENCY_S:.0e} to {_MOST_SECONDS:.0e}"
            raise CodecError(f"{where}.{name}", getattr(trace, name), expected)
    if not all(_LEAST_LATENCY_S <= latency_s <= _MOST_SECONDS for latency_s in trace.latencies_s):
        expected = f"all from {_LEAST_LATENCY_S:.0e} to {_MOST_SECONDS:.0e} seconds"
        raise CodecError(f"{where}.latencies_s", trace.latencies_s, expected)
    pairs = list(zip(trace.processes[::2], trace.processes[1::2], strict=False))
    in_turn = len(trace.processes) % 2 == 0 and set(pairs) <= {(0, 1), (1, 0)}
    if len(trace.processes) != len(trace.latencies_s) or not in_turn:
        expected = "a process for every slice, 0 and 1 in every two of them"
        raise CodecError(f"{where}.processes", trace.processes, expected)


def check_entry(entry: Entry) -> None:
    """Check the values of a journal's line.

    Raises:
        CodecError: A value contradicts another one, or is out of range.
    """
    if isinstance(entry, FinalEntry):
        for index, final in enumerate(entry.finals):
            _check_remeasurement(final, f"finals[{index}]")
        for arm, leads in enumerate(entry.leads or ()):
            for index, lead in enumerate(leads):
                _check_remeasurement(lead, f"leads[{arm}][{index}]")
        _check_seconds(entry.leads_s, "leads_s")
    elif isinstance(entry, NoiseEntry):
        check_trace(entry.trace, "trace")
    elif isinstance(entry, LastCheckEntry):
        _check_ranking(entry.ranking, "ranking")
    elif isinstance(entry, YardsticksEntry):
        _check_yardsticks(entry.yardsticks, "yardsticks")


def _check_machine(machine: str, result: Result, where: str) -> None:
    if machine not in result.machines:
        expected = f"one of the result's machines, {', '.join(result.machines)}"
        raise CodecError(where, machine, expected)


def _check_shards(shards: Shards) -> None:
    there = shards.there
    if not there or there[0] < 1 or there[-1] > shards.count or not _ascend(there, operator.lt):
        expected = f"at least one, from 1 to {shards.count}, in ascending order"
        raise CodecError("shards.there", there, expected)


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
        if case.programs and len(case.programs) != len(run.tasks):
            expected = f"none, or one for each of the {len(run.tasks)} tasks of its runs"
            raise CodecError(f"{where}.programs", case.programs, expected)
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
    if run.final is not None:
        _check_remeasurement(run.final, f"{where}.final")
    for index, lead in enumerate(run.leads or ()):
        at = f"{where}.leads[{index}]"
        _check_remeasurement(lead, at)
        if lead.trial is None or not 0 <= lead.trial < len(run.trials):
            expected = f"one of the run's {len(run.trials)} trials, from 0"
            raise CodecError(f"{at}.trial", lead.trial, expected)
    _check_seconds(run.leads_s, f"{where}.leads_s")
    if run.schedules is not None and len(run.schedules) != len(run.tasks):
        expected = f"null, or one for each of the run's {len(run.tasks)} tasks"
        raise CodecError(f"{where}.schedules", run.schedules, expected)
    if run.last_check is not None:
        _check_ranking(run.last_check, f"{where}.last_check")
        _check_crowned(run.last_check, run, f"{where}.last_check")


def _check_yardsticks(found: Yardsticks, where: str) -> None:
    if found.argument_bytes < 0:
        raise CodecError(f"{where}.argument_bytes", found.argument_bytes, "at least 0")
    if found.peak is not None:
        sizes = [one.working_set_bytes for one in found.peak.bandwidths]
        if not sizes or sizes[0] < 1 or not _ascend(sizes, operator.lt):
            expected = "at least one, by ascending size"
            raise CodecError(f"{where}.peak.bandwidths", found.peak.bandwidths, expected)
        speeds = [one.gbytes_per_s for one in found.peak.bandwidths]
        if min(found.peak.compute_gflops, *speeds) <= 0.0:
            raise CodecError(f"{where}.peak", found.peak, "nothing but what is above 0")
    for index, kernel in enumerate(found.kernels):
        samples, at = kernel.latencies_s, f"{where}.kernels[{index}].latencies_s"
        if samples and not _LEAST_LATENCY_S <= min(samples) <= max(samples) <= _MOST_SECONDS:
            expected = f"all from {_LEAST_LATENCY_S:.0e} to {_MOST_SECONDS:.0e} seconds"
            raise CodecError(at, samples, expected)
        if not samples and not kernel.error:
            raise CodecError(at, samples, "at least one sample where there is no error")


def _check_ranking(ranking: LastRanking, where: str) -> None:
    _check_seconds(ranking.check_s, f"{where}.check_s")
    for index, checked in enumerate(ranking.tasks):
        for place, compared in enumerate(checked.compared):
            _check_remeasurement(compared, f"{where}.tasks[{index}].compared[{place}]")


def _check_crowned(ranking: LastRanking, run: Run, where: str) -> None:
    """A crowned trial is there, and valid."""
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


def _check_remeasurement(measured: Remeasurement, where: str) -> None:
    """Slices have a set and a place each; samples of before have neither."""
    if not _samples_fit(measured):
        at = f"{where}.latencies_s"
        raise CodecError(at, measured.latencies_s, _expected_samples(measured))
    slices = len(measured.latencies_s)
    for name, values in (("sets", measured.sets), ("places", measured.places)):
        if values and len(values) != slices:
            expected = f"none, or as many as there are latencies, {slices}"
            raise CodecError(f"{where}.{name}", values, expected)
    if measured.sets and (measured.sets[0] != 0 or not _ascend(measured.sets, operator.le)):
        raise CodecError(f"{where}.sets", measured.sets, "sets in order, counted from 0")
    if measured.places and (measured.places[0] < 0 or not _ascend(measured.places, operator.lt)):
        expected = "different places in ascending order, from 0"
        raise CodecError(f"{where}.places", measured.places, expected)


def _ascend(values: Sequence[int], in_order: Callable[[int, int], bool]) -> bool:
    return all(map(in_order, values, values[1:]))


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
