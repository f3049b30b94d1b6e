"""Winners written out."""

from __future__ import annotations

import dataclasses

from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.report.details import schedules
from pytest_ansorbench.report.sections import Code, Lines
from pytest_ansorbench.winners import script, scripts_of, winners_of
from pytest_ansorbench.winners.script import fastest
from tests.winners.conftest import MATMUL, MLP


def test_the_fastest_of_each_arm_and_task_is_chosen_over_the_seeds(tuned):
    found = [*winners_of(tuned)]
    chosen = [*fastest(found)]
    tasks = len(MLP.tasks())
    assert [one.strategy for one in chosen[:2]] == ["random", "again"]
    assert len(chosen) == 2 + len({one.strategy for one in found if one.case == MLP.id}) * tasks
    for one in chosen:
        rivals = [
            other.latency_s
            for other in found
            if (other.case, other.place, other.strategy) == (one.case, one.place, one.strategy)
        ]
        assert one.latency_s == min(rivals)


def test_the_trace_makes_the_program_that_is_shown(tuned):
    from tvm.s_tir import Schedule

    for text in scripts_of(tuned):
        sch = Schedule(text.winner.unscheduled())
        assert text.trace.strip()
        exec(text.trace, {"sch": sch})
        assert sch.mod.script() == text.program


def test_what_this_tvm_cannot_read_is_left_out(tuned):
    [case, network] = tuned.cases
    damaged = dataclasses.replace(case, programs=("bm8=",))
    found = scripts_of(dataclasses.replace(tuned, cases=(damaged, network)))
    assert {one.winner.case for one in found} == {MLP.id}


def test_without_tvm_there_are_none(tuned, monkeypatch):
    def missing() -> None:
        raise ToolchainError("no TVM")

    monkeypatch.setattr(script, "check_toolchain", missing)
    assert scripts_of(tuned) == ()


def test_a_report_shows_those_of_a_case_as_code(tuned):
    scripts = scripts_of(tuned)
    section = schedules(MATMUL.id, scripts)
    assert section.subject == MATMUL.id
    sentences = [block.sentences[0] for block in section.blocks if isinstance(block, Lines)]
    assert [sentence.split(":")[0] for sentence in sentences] == ["random", "again"]
    codes = [block for block in section.blocks if isinstance(block, Code)]
    assert [code.text for code in codes[:2]] == [scripts[0].trace, scripts[0].program]
    of_network = schedules(MLP.id, scripts).blocks[0]
    assert isinstance(of_network, Lines)
    assert ", task " in of_network.sentences[0]
