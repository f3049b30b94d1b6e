"""Kernels that lie, and what becomes of them: in a trial, in a final measurement, in a network."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_ansorbench.measure.policy import RacingMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.untuned import network_check
from pytest_ansorbench.workloads.networks.apply import with_schedules
from tests.faults import kernel
from tests.liars import late, liar, lying
from tests.measure.engine_contract import MLP, QUICK, TWO_SETS

ONE_SET = replace(TWO_SETS, sets=Span(1, 1))
CAUGHT = {
    "lazy": "called once more, 64 of 64 elements differ",
    "remembering places": "called once more, 64 of 64 elements differ",
    "reciting": "not in every call does it compute the same: 64 of 64 elements differ",
    "unsteady": "64 of 64 elements differ",
    "scribbling": "the kernel wrote to its input 0",
    "scribbling beside": "the kernel wrote beside its input 0",
    # It shows where its writes arrive before the next look, or after it.
    "late": "still wrote to its output after it had returned|64 of 64 elements differ",
    "quick while timed": "ms where it is timed, and 1",
}


@pytest.fixture
def program(tmp_path):
    return lambda kind: late(tmp_path) if kind == "late" else liar(kind)


@pytest.mark.parametrize(("kind", "reason"), CAUGHT.items())
def test_a_liar_that_would_lead_is_a_failed_trial(engine, check, program, kind, reason):
    [built] = engine.build([program(kind)], check)
    outcome = engine.run(built, QUICK, best_s=1.0)
    assert outcome.status == "wrong-result"
    assert re.search(reason, outcome.error)


@pytest.mark.parametrize(("kind", "reason"), CAUGHT.items())
def test_a_liar_is_out_of_a_final_measurement(engine, check, program, kind, reason):
    lying, fine = engine.measure_side_by_side([program(kind), kernel("fine")], check, ONE_SET)
    assert (lying.status, fine.status) == ("wrong-result", "ok")
    assert re.search(reason, lying.error)


@pytest.mark.parametrize(("sets", "status"), [(2, "ok"), (3, "wrong-result")])
def test_who_is_fast_in_the_first_calls_only_is_out_after_three_sets(engine, check, sets, status):
    effort = SideBySide(slice_ms=0.1, turns=Span(30, 30), sets=Span(sets, sets))
    programs = [liar("tiring"), kernel("fine"), kernel("slow")]
    tiring, *honest = engine.measure_side_by_side(programs, check, effort)
    assert tiring.status == status
    assert ("times as long as the first" in tiring.error) == (status != "ok")
    assert [one.status for one in honest] == ["ok", "ok"]


def test_who_is_measured_alone_has_nobody_to_tire_before(engine, check):
    effort = SideBySide(slice_ms=0.1, turns=Span(3, 3), sets=Span(3, 3))
    [alone] = engine.measure_side_by_side([kernel("fine")], check, effort)
    assert alone.status == "ok" and len(alone.latencies_s) == 9


@pytest.mark.parametrize("policy", [QUICK, RacingMeasurement()])
@pytest.mark.parametrize("kind", ["fine", "slow"])
def test_nobody_honest_is_taken_for_a_liar(engine, check, policy, kind):
    [built] = engine.build([kernel(kind)], check)
    assert engine.run(built, policy).status == "ok"


@pytest.mark.parametrize("kind", ["lazy", "unsteady"])
def test_a_liar_within_a_network_is_found(engine, kind):
    program, tasks = MLP.program(), MLP.tasks()
    check, _ = network_check(engine, MLP, program, tasks)
    told = with_schedules(program, tasks[:1], [_lying(tasks[0].mod, kind)])
    effort = replace(ONE_SET, slice_ms=1.0)
    honest, liar_ = engine.measure_side_by_side(
        [Program.network(program), Program.network(told)], check, effort
    )
    assert honest.status == "ok", honest.error
    assert liar_.status == "wrong-result"
    assert "differ from the reference" in liar_.error


def _lying(mod, kind):
    from tvm import IRModule

    return IRModule({"main": lying(mod["main"], kind)})
