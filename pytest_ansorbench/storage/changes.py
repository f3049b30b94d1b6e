"""Two whole results held against each other, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_ansorbench.records import CaseResult, Result
from pytest_ansorbench.stats import Allowance, CaseChanges, Rules, case_changes, gates_per_case
from pytest_ansorbench.storage.machine import machine_difference


def result_changes(
    before: Result,
    after: Result,
    allowances: Sequence[Allowance],
    *,
    rules: Rules,
    any_machine: bool,
) -> tuple[CaseChanges, ...]:
    """Compare every case that either result has.

    Args:
        before: The earlier result.
        after: The later one.
        allowances: What may get worse by how much.
        rules: How to compare and judge.
        any_machine: Whether seconds and GFLOP/s of different machines are compared too.

    Returns:
        The later result's cases in their order, then those that it no longer has.

    Raises:
        PairingError: The runs of a result do not pair up.
    """
    family = max(1, sum(gates_per_case(allowances, len(case.strategies)) for case in after.cases))
    changes = [
        changes_since(
            before,
            case,
            after.machines[case.machine],
            allowances,
            rules=rules,
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
    return tuple(changes)


def changes_since(
    before: Result,
    case: CaseResult,
    machine: Mapping[str, Any],
    allowances: Sequence[Allowance],
    *,
    rules: Rules,
    family: int,
    any_machine: bool,
) -> CaseChanges:
    """Compare one case with an earlier result.

    Args:
        before: The earlier result.
        case: The case now.
        machine: What it was measured on.
        allowances: What may get worse by how much.
        rules: How to compare and judge.
        family: How many gates are judged together.
        any_machine: Whether seconds and GFLOP/s of different machines are compared too.
    """
    then = next((each for each in before.cases if each.case == case.case), None)
    if then is None:
        return CaseChanges(case.case, (), "the earlier result does not have it")
    difference = machine_difference(before.machines[then.machine], machine)
    return case_changes(
        then,
        case,
        allowances,
        rules=rules,
        family=family,
        other_machine="" if any_machine else difference,
    )
