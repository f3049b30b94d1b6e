"""What a case and a whole session leave behind, as result files hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_ansorbench.records.checks import check
from pytest_ansorbench.records.noise import MachineNoise
from pytest_ansorbench.records.runs import Run
from pytest_ansorbench.records.shards import Shards
from pytest_ansorbench.records.verdicts import Gate, SuiteVerdict, Verdict
from pytest_ansorbench.records.yardsticks import Yardsticks

SCHEMA_VERSION: Final = 15
OLDEST_SCHEMA_VERSION: Final = 12
"""The first that is still read."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All that was measured on one case: every arm's runs, and the verdicts over them.

    Attributes:
        case: The case's id.
        strategies: Names of the arms; the first is the reference.
        runs: Every run of every arm.
        verdicts: One per challenger, in order of `strategies`.
        version: A hash of the case's programs: other versions of a case are other cases.
            Empty if not recorded.
        control: The arm that is the reference over again; None if there is none.
        looks: After how many repeats its gates were judged, at least and at most, e.g. `3:12`;
            empty if only once, after all.
        programs: The program of each task before it is scheduled, packed by
            `packed.pack_program`; none if not recorded.
        yardsticks: Baselines of its kernels besides each other, one a machine; none if that was
            not asked for.
        definition: What makes the case anew: the family of a shipped one, or module and class of
            another, and its fields, as `travel.packed` writes them. None if not recorded, or if
            there is no such thing.
    """

    case: str
    strategies: tuple[str, ...]
    runs: tuple[Run, ...]
    verdicts: tuple[Verdict, ...]
    version: str = ""
    control: str | None = None
    looks: str = ""
    programs: tuple[str, ...] = ()
    yardsticks: tuple[Yardsticks, ...] = ()
    definition: Mapping[str, Any] | None = field(default=None, metadata={"since": 13})

    def __post_init__(self) -> None:
        strategies, challengers = self.strategies, self.strategies[1:]
        check(bool(strategies), "strategies", strategies, "at least one strategy")
        once = len(set(strategies)) == len(strategies)
        check(once, "strategies", strategies, "each strategy once")
        of_case = f"one of the case's strategies, {', '.join(strategies)}"
        a_challenger = f"one of the challengers, {', '.join(challengers)}"
        for index, run in enumerate(self.runs):
            at = f"runs[{index}]"
            expected = f"the case {self.case!r} that it is part of"
            check(run.case == self.case, f"{at}.case", run.case, expected)
            check(run.strategy in strategies, f"{at}.strategy", run.strategy, of_case)
            tasks = len(self.runs[0].tasks)
            expected = f"{tasks}, as many as the case's first run has"
            check(len(run.tasks) == tasks, f"{at}.tasks", run.tasks, expected)
            expected = f"none, or one for each of the {tasks} tasks of its runs"
            fit = not self.programs or len(self.programs) == tasks
            check(fit, "programs", self.programs, expected)
        known = self.control is None or self.control in challengers
        check(known, "control", self.control, f"null or {a_challenger}")
        for index, verdict in enumerate(self.verdicts):
            name = verdict.comparison.challenger.strategy
            at = f"verdicts[{index}].comparison.challenger.strategy"
            check(name in challengers, at, name, a_challenger)

    @property
    def machines(self) -> tuple[str, ...]:
        """Fingerprints of the machines that its runs were measured on, in order of appearance."""
        return tuple(dict.fromkeys(run.machine for run in self.runs))

    @property
    def landscapes(self) -> tuple[str, ...]:
        """Fingerprints of the landscapes that runs of it searched, in order of appearance."""
        return tuple(dict.fromkeys(run.landscape for run in self.runs if run.landscape))

    @property
    def repeats(self) -> int:
        """How many seeds each arm has run."""
        return len(self.runs_of(self.strategies[0]))

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates of all verdicts."""
        return tuple(gate for verdict in self.verdicts for gate in verdict.gates)

    def runs_of(self, strategy: str) -> tuple[Run, ...]:
        """The runs of one arm."""
        return tuple(run for run in self.runs if run.strategy == strategy)


@dataclass(frozen=True, slots=True)
class Result:
    """A whole session, as `--ansor-json` and `--ansor-save` write it.

    Attributes:
        schema_version: Version of this layout.
        created: UTC time of the session's start, ISO 8601.
        machines: By fingerprint, the machines that cases were measured on: hardware, operating
            system and versions of the tools that decide a result.
        commit: State of the working tree, as pytest-benchmark records it.
        settings: The settings the session ran under.
        cases: Results in order of execution.
        noise: How steady its machines were, in order of time; empty if not recorded.
        lost: Cases that there is no result of, as their tests failed or were not run.
        suites: Verdicts over all cases, and comparisons of groups of them.
        shards: Which parts of a session these are, if it was shared out; None for a whole one.
    """

    schema_version: int
    created: str
    machines: Mapping[str, Any]
    commit: Mapping[str, Any]
    settings: Mapping[str, Any]
    cases: tuple[CaseResult, ...]
    noise: tuple[MachineNoise, ...] = ()
    lost: tuple[str, ...] = ()
    suites: tuple[SuiteVerdict, ...] = ()
    shards: Shards | None = None

    def __post_init__(self) -> None:
        for name, described in self.machines.items():
            check(isinstance(described, Mapping), f"machines.{name}", described, "an object")
        expected = f"one of the result's machines, {', '.join(self.machines)}"
        named = {f"noise[{index}].machine": one.machine for index, one in enumerate(self.noise)}
        for index, case in enumerate(self.cases):
            for place, run in enumerate(case.runs):
                named[f"cases[{index}].runs[{place}].machine"] = run.machine
            for place, found in enumerate(case.yardsticks):
                named[f"cases[{index}].yardsticks[{place}].machine"] = found.machine
        for where, machine in named.items():
            check(machine in self.machines, where, machine, expected)
