"""What a result was measured under: caches, confirmed progress, what else the machines did."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_ansorbench.records import CaseResult, MachineState, Run
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.wording import counted, percent_text, ratio_text
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.paired_runs import progress_of
from pytest_ansorbench.stats.recorded import Pace

BUSY_CORES: Final = 0.1
"""Cores' worth of other work that moves a latency by more than it varies anyway."""
MOVED: Final = 1.5
"""By what factor two rates at which cores exchange data have to differ to be told."""


_CACHES: Final = {
    "cold": "each timed call of a trial came after a copy that emptied the caches",
    "network": (
        "each timed call of a network's trials found the caches as the network leaves them; "
        "operators and final measurements are warm"
    ),
}
_USUAL_INPUTS: Final = "[-1, 1)"
PROGRESS: Final = {
    "confirmed": "each program that led a search was measured again, and counts as fast as then",
    "believed": "each program that led a search counts as fast as the search saw it",
}


def caches_lines(results: Sequence[CaseResult]) -> Lines:
    """How trials found the caches, unless that is warm, as usual."""
    found = {run.caches: None for result in results for run in result.runs}
    return Lines.of(f"caches: {caches}: {_CACHES[caches]}" for caches in found if caches in _CACHES)


def space_lines(results: Sequence[CaseResult]) -> Lines:
    """Which arms had other sketches to choose from than the reference, as by rules of their own."""
    return Lines.of(
        told
        for result in results
        for name in result.strategies[1:]
        if (told := _space(result, name))
    )


def _space(result: CaseResult, name: str) -> str:
    """How an arm's sketches differ, in tasks that both it and the reference came to."""
    reference = result.strategies[0]
    of_reference, of_arm = _sketches(result, reference), _sketches(result, name)
    both = {task for task, _ in of_reference} & {task for task, _ in of_arm}
    usual, found = ({one for one in of if one[0] in both} for of in (of_reference, of_arm))
    if usual == found:
        return ""
    return (
        f"space: {result.case}: {name} chose from {len(usual & found)} of the {len(usual)} "
        f"sketches of {reference} and {len(found - usual)} that it lacks"
    )


def _sketches(result: CaseResult, name: str) -> set[tuple[int, str]]:
    """By the place of its task, each sketch that an arm could choose."""
    return {
        (place, sketch)
        for run in result.runs_of(name)
        for place, task in enumerate(run.tasks)
        for sketch in task.sketches
    }


def checked_lines(results: Sequence[CaseResult]) -> Lines:
    """What kernels of a case were compared on, unless that is one output on usual inputs."""
    checked = {run.case: run.checked for result in results for run in result.runs if run.checked}
    return Lines.of(
        f"checked: {case}: {counted(one.outputs, 'output')}"
        + (f" on inputs from {one.inputs}" if one.inputs else "")
        for case, one in checked.items()
        if one.outputs != 1 or one.inputs not in ("", _USUAL_INPUTS)
    )


def landscape_lines(results: Sequence[CaseResult]) -> Lines:
    """Which runs searched a landscape, and what that says of their figures."""
    return Lines.of(
        f"landscape: {result.case}: {counted(len(runs), 'run')} searched "
        f"{' and '.join(result.landscapes)}, not a machine: latencies and seconds of building "
        "and running are recorded ones, and proposing is left out; nothing of this gates"
        for result in results
        if (runs := [run for run in result.runs if run.landscape])
    )


def recorded_lines(results: Sequence[CaseResult]) -> Lines:
    """Which runs of a case are of another day."""
    return Lines.of(
        _recorded(result, runs)
        for result in results
        if (runs := [run for run in result.runs if run.recorded is not None])
    )


def _recorded(result: CaseResult, recorded: Sequence[Run]) -> str:
    strategy = recorded[0].strategy
    runs = result.runs_of(strategy)
    pace = Pace.of(runs)
    days = dict.fromkeys(run.recorded.created[:10] for run in recorded if run.recorded is not None)
    return (
        f"recorded: {result.case}: {len(recorded)} of {counted(len(runs), 'run')} of {strategy} "
        f"are of {', '.join(days)}; their first rounds, run again, took {ratio_text(pace.ratio)} "
        "times as long; ratios in seconds count that, with intervals wider by "
        f"{percent_text(math.expm1(pace.error), 2)}"
    )


def progress_lines(results: Sequence[CaseResult], criteria: Criteria) -> Lines:
    """Which progress of the searches counts, and in which cases another, if some was confirmed."""
    if not any(run.leads is not None for result in results for run in result.runs):
        return Lines(())
    found = {result.case: progress_of(result.runs, criteria) for result in results if result.runs}
    usual = criteria.progress if criteria.progress in found.values() else "believed"
    lines = [f"progress: {PROGRESS[usual]}"]
    if others := [case for case, progress in found.items() if progress != usual]:
        lines.append(f"progress: {', '.join(others)}: {PROGRESS['believed']}")
    return Lines.of(lines)


def machine_warnings(
    results: Sequence[CaseResult], machines: Mapping[str, Mapping[str, Any]]
) -> Lines:
    """Each case that was disturbed, measured in an emulator or on several machines.

    Of the machines it is told by fingerprint what they are.
    """
    sentences = tuple(
        f"warning: {result.case}: {warning}"
        for result in results
        for warning in (
            *_disturbed(result),
            *_moved(result),
            *_emulated(result, machines),
            *_mixed(result),
        )
    )
    return Lines(sentences, tone="warning")


def _disturbed(result: CaseResult) -> Iterator[str]:
    states = _states(result)
    disturbed = [s for s in states if s.busy_cores + s.stolen_cores > BUSY_CORES]
    if not disturbed:
        return
    worst = max(disturbed, key=lambda state: state.busy_cores + state.stolen_cores)
    yield (
        f"the machine was busy at {len(disturbed)} of {len(states)} observations, with up to "
        f"{_work(worst)}; its times may be off"
    )


def _moved(result: CaseResult) -> Iterator[str]:
    if len(result.machines) > 1:
        return
    rates = [rate for one in _states(result) if (rate := one.exchanged_bytes_s) is not None]
    slow = [rate for rate in rates if rate * MOVED < max(rates)]
    if slow:
        yield (
            f"its cores were farther apart at {len(slow)} of {len(rates)} observations: each read "
            f"{min(slow) / 1e9:.2g} GB/s of what another had written, elsewhere up to "
            f"{max(rates) / 1e9:.2g}; kernels whose threads exchange data were slower"
        )


def _states(result: CaseResult) -> Sequence[MachineState]:
    """What was seen before and after each repeat, which is a seed: all its arms share it."""
    states = {
        (run.seed, moment): state
        for run in result.runs
        for moment, state in (("before", run.before), ("after", run.after))
        if state is not None
    }
    return [*states.values()]


def _work(state: MachineState) -> str:
    work = f"{state.busy_cores:.1f} cores of other work"
    if state.busiest:
        work += f" ({', '.join(state.busiest)})"
    if state.stolen_cores > BUSY_CORES:
        work += f" and {state.stolen_cores:.1f} cores taken by the host"
    return work


def _emulated(result: CaseResult, machines: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if any(machines.get(name, {}).get("emulated") for name in result.machines):
        yield (
            "it was measured in an emulator: that its kernels are right can be believed, its "
            "times and their ratios mean nothing"
        )


def _mixed(result: CaseResult) -> Iterator[str]:
    if len(result.machines) > 1:
        yield (
            f"its repeats come from {counted(len(result.machines), 'machine')}, so its seconds "
            "and GFLOP/s mix machines; its ratios do not, as they are taken within a repeat"
        )
