"""What repeats that stop by themselves were spent on."""

from __future__ import annotations

from dataclasses import replace

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.gates import repeats_lines
from tests.report.rendered import lines_of
from tests.synthetic import make_case_result, make_run


def case(repeats: int, **gate: object) -> CaseResult:
    """A case that was looked at, with a gate or two of one kind."""
    runs = [make_run(seed=seed, final=1.0) for seed in range(repeats)]
    found = make_case_result(
        reference=runs, challengers={"fast": [replace(run, strategy="fast") for run in runs]}
    )
    [verdict] = found.verdicts
    gates = tuple(replace(one, **gate) for one in verdict.gates)
    return replace(found, looks="3:12", verdicts=(replace(verdict, gates=gates),))


def told(*cases: CaseResult) -> str:
    return "\n".join(lines_of(repeats_lines(cases, ())))


def test_a_fixed_number_needs_no_words() -> None:
    assert told(replace(case(4), looks="")) == ""


def test_repeats_and_gates_are_counted() -> None:
    decided = case(3, outcome="holds", open=False)
    given_up = case(5, outcome="undecided", open=False)
    still_open = case(12, outcome="undecided", open=True)
    assert told(decided, given_up, still_open) == (
        "repeats: 3 to 12 of at most 12 in 3 cases, 20 in all; gates: 2 decided, 2 undecided, "
        "whatever repeats are left would show, 2 open, for want of time"
    )


def test_one_case_without_gates() -> None:
    found = case(5)
    [verdict] = found.verdicts
    bare = replace(found, verdicts=(replace(verdict, gates=()),))
    assert told(bare) == "repeats: 5 of at most 12 in 1 case, 5 in all; no gate to settle"
