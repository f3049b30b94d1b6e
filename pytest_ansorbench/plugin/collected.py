"""What a collected test resolves to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pytest

from pytest_ansorbench.bench import FixedRepeats, Plan, RepeatsUntilSettled
from pytest_ansorbench.options.conflicts import check_conflicts
from pytest_ansorbench.options.declarations import option_of
from pytest_ansorbench.options.resolve import is_given, is_on_command_line, resolve
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.refusals import usage
from pytest_ansorbench.plugin.selection import case_id, case_of, keywords_of
from pytest_ansorbench.records import CaseResult, Gate
from pytest_ansorbench.sessions import run_plan
from pytest_ansorbench.stats.figures import FIGURES, gates_per_case
from pytest_ansorbench.stats.limits import Allowance, Limits

COMPARE_FAIL: Final = "baseline.compare_fail"
ArmsOf = Callable[[Settings, str | None, bool], tuple[str, ...]]
"""Arms by the settings of a test, its case's id, and whether they were chosen for it."""


@dataclass(frozen=True)
class Collected:
    """A test that tunes a case, with all that is known of it before it runs: found out once."""

    item: pytest.Item
    settings: Settings
    arms: tuple[str, ...]  # the reference first, no control among them
    case: str | None  # its id; None if that shows only when the test runs
    seeds: tuple[int, ...] | None = None  # its repeats, where a shard runs only some of them

    @classmethod
    def of(cls, item: pytest.Item, arms_of: ArmsOf) -> Collected:
        """Resolve the options and the marker of a test.

        Raises:
            pytest.UsageError: The marker does not fit, or a strategy is not there.
        """
        marker = keywords_of(item)
        settings = usage(resolve, item.config, marker)
        usage(check_conflicts, settings)
        collected = cls(item, settings, settings.strategies, None)
        return collected.with_case(case_id(item), arms_of)

    def with_case(self, case: str | None, arms_of: ArmsOf) -> Collected:
        """The same test with its case, which may show only when it runs."""
        is_chosen = is_given(self.item.config, keywords_of(self.item), "strategies")
        return replace(self, case=case, arms=arms_of(self.settings, case, is_chosen))

    @property
    def name(self) -> str:
        return self.item.nodeid

    @property
    def label(self) -> str:
        """The case's id, or the test's if that does not show yet."""
        return self.case or self.name

    @property
    def limits(self) -> Limits:
        """The gates that are asked for.

        A single arm can be held against nothing. What a marker or an ini file says of gates is
        meant for the arms that it is usually run with; what the command line says, for this one.
        """
        limits = self.settings.limits
        if len(self.arms) > 1:
            return limits
        config = self.item.config
        here = {key for key in limits if is_on_command_line(config, f"limits.{key}")}
        return Limits({key: limit for key, limit in limits.items() if key in here})

    @property
    def allowances(self) -> tuple[Allowance, ...]:
        """The allowances that are asked for, likewise; those on figures of one arm always are."""
        given = self.settings.baseline.allowances
        if len(self.arms) > 1 or is_on_command_line(self.item.config, COMPARE_FAIL):
            return given
        return tuple(one for one in given if FIGURES[one.metric].subject == "arm")

    @property
    def unasked(self) -> str:
        """Which of its gates are not asked for, and why; empty if all are."""
        limits = [key for key in self.settings.limits if key not in self.limits]
        every, asked = self.settings.baseline.allowances, self.allowances
        left_out = [option_of(f"limits.{key}").keyword for key in limits]
        left_out += [
            f"{option_of(COMPARE_FAIL).keyword} {one.metric}" for one in every if one not in asked
        ]
        if not left_out:
            return ""
        return f"not asked for, as {self.arms[0]} names no challenger: {', '.join(left_out)}"

    @property
    def gates(self) -> int:
        """How many gates it has."""
        metrics = (allowance.metric for allowance in self.allowances)
        return gates_per_case([*self.limits, *metrics], len(self.arms))

    @property
    def repeat_trials(self) -> int:
        """Trials to expect of one repeat, as far as they show before it runs."""
        budget, case = self.settings.budget, case_of(self.item)
        tasks = len(case.tasks()) if budget.trials.per_task and case is not None else 1
        return len(self.arms) * budget.planned(tasks)

    def plan(
        self,
        family: int,
        deadline_s: float = math.inf,
        gates_on_changes: Callable[[CaseResult], Sequence[Gate]] = lambda result: (),
    ) -> Plan:
        """Its settings as the bench takes them.

        Args:
            family: Over how many gates like its own the session's false alarms could be shared out.
            deadline_s: When its last repeat has to be over, by `time.monotonic`.
            gates_on_changes: The gates on changes of a result since an earlier one.
        """
        settings = self.settings
        return Plan(
            runs=run_plan(settings),
            repeats=self._repeats(gates_on_changes),
            criteria=settings.criteria,
            limits=self.limits,
            family=family,
            deadline_s=deadline_s,
        )

    def _repeats(
        self, gates_on_changes: Callable[[CaseResult], Sequence[Gate]]
    ) -> FixedRepeats | RepeatsUntilSettled:
        first, repeats = self.settings.experiment.seed, self.settings.experiment.repeats
        if self.seeds is not None:
            return FixedRepeats(self.seeds)
        if isinstance(repeats, int):
            return FixedRepeats(range(first, first + repeats))
        return RepeatsUntilSettled(first, repeats, self.settings.has_suite_gates, gates_on_changes)
