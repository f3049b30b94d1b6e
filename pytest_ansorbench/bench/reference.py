"""Runs of an earlier result that stand in for new ones of the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import CaseResult, Result, Round, Run, Trial
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.search.candidates import unpack
from pytest_ansorbench.search.task_search import Best
from pytest_ansorbench.storage import fingerprint, machine_difference, package_difference
from pytest_ansorbench.storage.entries import CaseEntry
from pytest_ansorbench.training.learning import learns

if TYPE_CHECKING:
    from pytest_ansorbench.strategies import Strategy
    from pytest_ansorbench.workloads.case import Task


@dataclass(frozen=True)
class StandIn:
    """A recorded run that is to stand in for a new one."""

    run: Run  # the run
    created: str  # when the session of its result began, UTC, ISO 8601
    # Seconds that its first round took when it was run again; None until then
    first_round_s: float | None = None


@dataclass(frozen=True, eq=False)
class SavedReference:
    """An earlier result, asked for runs of the reference."""

    result: Result  # with runs that keep their schedules
    conditions: Mapping[str, Any]  # how its programs were built and run, as far as it says

    def misfit(self, machine: Mapping[str, Any], conditions: Mapping[str, Any]) -> str:
        """Why none of its runs can stand in for one of this session; empty if some may."""
        machines, own = self.result.machines, fingerprint(machine)
        if machines and own not in machines:
            difference = machine_difference(next(iter(machines.values())), machine)
            return f"it was measured on another machine ({difference})"
        both = machines.get(own, {}), machine
        if changed := package_difference(*({"packages": one.get("packages")} for one in both)):
            return f"it was measured with other packages ({changed})"
        for name, then in self.conditions.items():
            now = conditions[name]
            if then != now:
                return f"it was measured with {name} {then!r}, and now there is {now!r}"
        return ""

    def runs(
        self, reference: Strategy, entry: CaseEntry, machine: Mapping[str, Any]
    ) -> tuple[Mapping[int, StandIn], str]:
        """By seed, runs that may stand in for a reference's; and why there are none, or empty."""
        learnt, name = self.result.settings.get("learn"), reference.name
        if learnt and learns(reference):
            return {}, f"its searches began with what was learnt in {learnt!r}"
        saved = [case for case in self.result.cases if case.case == entry.case]
        if not saved:
            return {}, "it has no such case"
        # Several tests may have tuned it, with references of their own.
        saved.sort(key=lambda case: not case.runs_of(name))
        every = [self._runs_of(name, case, entry, machine) for case in saved]
        return max(every, key=lambda found: len(found[0]))

    def _runs_of(
        self, name: str, saved: CaseResult, entry: CaseEntry, machine: Mapping[str, Any]
    ) -> tuple[Mapping[int, StandIn], str]:
        """The same of one of its cases."""
        if (then := saved.version) != entry.version:
            return {}, f"its version of the case is {then!r}, and now it is {entry.version!r}"
        now = entry.conditions["scheduler"]  # empty for a single task
        if now and (then := self.result.settings.get("scheduler", now)) != now:
            return {}, f"its scheduler of tasks is {then!r}, and now it is {now!r}"
        found = {}
        for run in saved.runs_of(name):
            budget = (run.budget_trials, run.round_trials, run.run_time_s)
            if budget != tuple(map(entry.conditions.get, ("trials", "round_trials", "run_time_s"))):
                seconds = "" if run.run_time_s is None else f" and {run.run_time_s:g} s"
                return {}, f"its runs have {budget[0]} trials in rounds of {budget[1]}{seconds}"
            if run.flops != entry.flops:
                return {}, f"its runs have {run.flops} FLOP, and now it has {entry.flops}"
            usable = run.recorded is None and run.schedules is not None and run.rounds
            if usable and run.machine == fingerprint(machine):
                found[run.seed] = StandIn(run, self.result.created)
        none = f"it has no runs of {name} on this machine that keep their schedules"
        return found, "" if found else none


@dataclass(frozen=True)
class RecordedTask:
    best: Best | None  # its winner; None if no trial is valid
    leads: Sequence[Best] = field(default=())  # nothing: they were measured again at the time
    trials_done: int = 0  # its trials


class RecordedSearch:
    """A search that was done on another day: its winners, to be measured beside today's."""

    def __init__(self, stand_in: StandIn, tasks: Sequence[Task]) -> None:
        self._run = stand_in.run
        schedules = self._run.schedules or ()
        try:
            self.tasks = [
                RecordedTask(_best(trial, schedule, task))
                for trial, schedule, task in zip(
                    self._run.best_trials, schedules, tasks, strict=True
                )
            ]
        except (PackedError, ValueError) as error:
            raise ResumeError(f"a recorded run cannot be used again: {error}") from None

    @property
    def rounds(self) -> Sequence[Round]:
        return self._run.rounds

    @property
    def search_s(self) -> float:
        """Search time that this session spent on it: none."""
        return 0.0


def _best(trial: Trial | None, schedule: str | None, task: Task) -> Best | None:
    if trial is None or schedule is None or trial.latency_s is None:
        return None
    [candidate] = unpack(schedule, task.mod)
    return Best(trial.index, trial.latency_s, candidate.mod, candidate.args_info)
