"""The first candidate of the stock rules."""

from __future__ import annotations

from tvm_ffi import structural_equal

from pytest_ansorbench.yardsticks.first_candidate import first_candidate
from tests.faults import Doubling


def test_it_is_scheduled_and_the_same_each_time(target):
    [task] = Doubling().tasks()
    program, again = (first_candidate(task.mod, target) for _ in range(2))
    assert structural_equal(program, again)
    assert not structural_equal(program, task.mod)


def test_where_no_draw_applies_there_is_none(target, monkeypatch):
    from pytest_ansorbench.strategies.program_maker import ProgramMaker

    monkeypatch.setattr(ProgramMaker, "replay", lambda self, trace, seed: None)
    [task] = Doubling().tasks()
    assert first_candidate(task.mod, target) is None
