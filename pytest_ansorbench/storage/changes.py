"""Two whole results compared, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ansorbench.records import CaseResult, Result
from pytest_ansorbench.stats.changes import CaseChanges, case_changes, incomparable, same_case
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.figures import gates_per_case
from pytest_ansorbench.stats.gate import families
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.stats.suite import own_arms, suite_gates
from pytest_ansorbench.stats.suite_changes import suite_changes
from pytest_ansorbench.storage.machine import machine_difference


def result_changes(
    before: Result,
    after: Result,
    allowances: Sequence[Allowance],
    *,
    criteria: Criteria,
    any_machine: bool,
) -> tuple[CaseChanges, ...]:
    """Compare the later result's cases in their order, those that it lost, then all together."""
    gated = [allowance.metric for allowance in allowances if not allowance.of_suite]
    of_suite = [allowance for allowance in allowances if allowance.of_suite]
    family, suite_family = families(
        sum(gates_per_case(gated, len(own_arms(case))) for case in after.cases),
        suite_gates(map(own_arms, after.cases), of_suite),
    )
    changes = [
        changes_since(
            before,
            case,
            after.machines,
            allowances,
            criteria=criteria,
            family=family,
            any_machine=any_machine,
        )
        for case in after.cases
    ]
    gone = {case.case for case in before.cases} - {case.case for case in after.cases}
    changes += [
        CaseChanges(case.case, (), "the later result does not have it")
        for case in before.cases
        if case.case in gone
    ]
    changes += suite_changes_since(
        before, after.cases, of_suite, criteria=criteria, family=suite_family, gone=sorted(gone)
    )
    return tuple(changes)


def suite_changes_since(
    before: Result,
    cases: Sequence[CaseResult],
    allowances: Sequence[Allowance],
    *,
    criteria: Criteria,
    family: int,
    gone: Sequence[str] = (),
) -> tuple[CaseChanges, ...]:
    """Compare all cases together with an earlier result, if two can be or a limit is set.

    `gone` are cases that there should be a result of, and is none. If there are searches of
    landscapes among the cases, they are held to nothing.
    """
    if any(case.landscapes for case in cases) or not (cases or gone):
        allowances = ()
    known = [(then, case) for case in cases if (then := same_case(before.cases, case)) is not None]
    compared = [(then, now) for then, now in known if not incomparable(then, now)]
    lost = [*(now.case for then, now in known if incomparable(then, now)), *gone]
    if not allowances and len(compared) < 2:
        return ()
    found = suite_changes(compared, allowances, criteria=criteria, family=family, lost=lost)
    return (found,) if found.changes else ()


def changes_since(
    before: Result,
    case: CaseResult,
    machines: Mapping[str, Any],
    allowances: Sequence[Allowance],
    *,
    criteria: Criteria,
    family: int,
    any_machine: bool,
) -> CaseChanges:
    """Compare one case, measured on these machines, with an earlier result."""
    then = same_case(before.cases, case)
    if then is None:
        return CaseChanges(case.case, (), "the earlier result does not have it")
    difference = _machines_differ(then, before.machines, case, machines)
    return case_changes(
        then,
        case,
        allowances,
        # Repeats that stopped by what was seen were looked at more than once.
        criteria=criteria.looked_at(case.looks),
        family=family,
        other_machine="" if any_machine else difference,
    )


def _machines_differ(
    then: CaseResult,
    machines_then: Mapping[str, Any],
    now: CaseResult,
    machines_now: Mapping[str, Any],
) -> str:
    """How the machines of a case differ; empty if all of its runs are from one and the same."""
    if len(then.machines) > 1 or len(now.machines) > 1:
        return "its repeats were measured on several machines"
    if not then.runs or not now.runs:
        return ""
    return machine_difference(machines_then[then.machines[0]], machines_now[now.machines[0]])
