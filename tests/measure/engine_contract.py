"""What every engine has to do: a test suite to be inherited.

    @pytest.fixture(scope="module")
    def engine():
        with MyEngine(...) as started:
            yield started

    class TestMyEngine(EngineContract): ...

    class TestTurns(TurnsContract): ...

Faults that only some engines survive, such as a kernel that crashes, are in those engines' own
tests. Kernels are those of `tests.faults`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.measure.engine import UntunedError
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.untuned import network_check
from pytest_ansorbench.storage import fingerprint
from pytest_ansorbench.workloads import Check, Mlp
from tests.faults import Doubling, kernel

QUICK = FixedMeasurement(number=1, repeat=3, min_repeat_ms=1)
TURNS = 6
"""After so many, each of three programs has been first and last equally often."""
TWO_SETS = SideBySide(slice_ms=0.1, turns=Span(TURNS, TURNS), sets=Span(2, 2))
MLP = Mlp(features=24, hidden=(16, 16), classes=5)
SCALE = np.arange(1, 9, dtype=np.float32)


class Recording:
    """A measurement policy that notes what it was asked."""

    def __init__(self):
        self.asked = []

    def measure(self, kernel, best_s):
        self.asked.append(best_s)
        first_s = kernel.first_call()
        samples = kernel.time(3, 4)
        assert first_s > 0
        assert len(samples) == 4
        return samples


class Comparing(Recording):
    """A measurement policy that compares, and notes what it saw. Its candidates always lead."""

    def compare(self, kernel, incumbent, best_s):
        self.asked.append((kernel.time(2)[0], incumbent.time(2)[0], incumbent.first_call()))
        assert all(seconds > 0 for seconds in self.asked[-1])
        return (best_s / 2,)


class Failing:
    """A measurement policy with a bug."""

    def measure(self, kernel, best_s):
        kernel.first_call()
        raise ZeroDivisionError("planted")


def answering(check):
    """A program that has the right answer to one check in it, whatever it is given."""
    from tvm import te, tirx

    [given] = check.inputs
    x = te.placeholder(given.shape, "float32", name="x")

    def element(*index):
        value = tirx.const(0.0, "float32")
        for place, number in np.ndenumerate(check.expected):
            here = tirx.all(*(i == at for i, at in zip(index, place, strict=True)))
            value = tirx.Select(here, tirx.const(float(number), "float32"), value)
        return value

    return _program([x, te.compute(given.shape, element, name="y")])


def reversing(dtype):
    """A program of two outputs: the rows in reverse order, and the first row."""
    from tvm import te

    x = te.placeholder((5, 12), dtype, name="x")
    rows = te.compute((5, 12), lambda i, j: x[4 - i, j], name="rows")
    return _program([x, rows, te.compute((1, 12), lambda i, j: x[i, j], name="first")])


def parts():
    """A network whose outputs are a tensor and a tuple: `x * SCALE`, and its sum with `x`, `x`."""
    from tvm import relax

    builder = relax.BlockBuilder()
    x, scale = (relax.Var(name, relax.TensorType((8,), "float32")) for name in ("x", "scale"))
    with builder.function("main", [x, scale]):
        with builder.dataflow():
            scaled = builder.emit(relax.op.multiply(x, scale))
            total = builder.emit(relax.op.add(scaled, x))
            made = builder.emit_output(relax.Tuple([scaled, relax.Tuple([total, x])]))
        builder.emit_func_output(made)
    return Program.network(relax.transform.LegalizeOps()(builder.get()))


def _program(tensors):
    from tvm import IRModule, te

    function = te.create_prim_func(tensors).with_attr("global_symbol", "main")
    return Program.operator(IRModule({"main": function}))


def measured(engine, kinds, check, best_s=None, policy=QUICK):
    """What becomes of kernels of `tests.faults` that are built at once and run one by one."""
    built = engine.build([kernel(kind) for kind in kinds], check)
    return [engine.run(program, policy, best_s=best_s) for program in built]


class _Checked:
    @pytest.fixture
    def check(self):
        return Doubling().check()


class EngineContract(_Checked):
    """Inherit it beside a fixture `engine` that is started."""

    def test_it_says_what_it_measures_for_and_on(self, engine):
        assert threads_of(engine.target) >= 1
        assert engine.capacity >= 1
        assert engine.restarts >= 0
        described = engine.machine
        assert json.loads(json.dumps(described, allow_nan=False)) == described
        assert described["target"] == str(engine.target)
        assert fingerprint(engine.machine) == fingerprint(described)

    def test_it_looks_at_its_machine(self, engine):
        seen = engine.observe()
        assert seen.busy_cores >= 0
        assert seen.stolen_cores >= 0

    def test_starting_twice_is_starting_once(self, engine, check):
        [built] = engine.build([kernel("fine")], check)
        engine.start()
        assert engine.run(built, QUICK).status == "ok"

    def test_closed_it_can_be_started_again(self, engine, check):
        engine.close()
        engine.close()
        engine.start()
        assert measured(engine, ["fine"], check)[0].status == "ok"

    def test_outcomes_are_in_order(self, engine, check):
        built = engine.build([kernel(kind) for kind in ("fine", "unbuildable", "fine")], check)
        assert [program.status for program in built] == ["ok", "build-error", "ok"]
        assert [bool(program.error) for program in built] == [False, True, False]
        assert all(program.build_s > 0 for program in built)
        outcomes = [engine.run(program, QUICK) for program in built]
        assert [outcome.status for outcome in outcomes] == ["ok", "build-error", "ok"]
        assert outcomes[1].error == built[1].error
        assert outcomes[1].latencies_s == ()
        assert outcomes[1].run_s == 0

    def test_nothing_is_built_of_nothing(self, engine, check):
        assert engine.build([], check) == []
        assert engine.measure_side_by_side([], check, TWO_SETS) == []

    def test_a_program_gets_as_many_samples_as_its_policy_takes(self, engine, check):
        [outcome] = measured(engine, ["fine"], check)
        assert outcome.status == "ok"
        assert len(outcome.latencies_s) == QUICK.repeat
        assert all(latency_s > 0 for latency_s in outcome.latencies_s)
        assert outcome.build_s > 0
        assert outcome.run_s > 0
        assert outcome.peak_memory_mb >= 0

    def test_any_policy_measures_and_is_told_the_best_so_far(self, engine, check):
        policy = Recording()
        [first] = measured(engine, ["fine"], check, policy=policy)
        [second] = measured(engine, ["fine"], check, best_s=0.5, policy=policy)
        assert policy.asked == [None, 0.5]
        assert len(first.latencies_s) == len(second.latencies_s) == 4

    def test_an_error_of_a_policy_is_its_own(self, engine, check):
        [built] = engine.build([kernel("fine")], check)
        with pytest.raises(ZeroDivisionError, match="planted"):
            engine.run(built, Failing())
        engine.discard(built)
        assert measured(engine, ["fine"], check)[0].status == "ok"

    def test_a_program_that_leads_is_kept_for_policies_that_compare(self, engine, check):
        built = engine.build([kernel("fine")] * 2, check)
        alone = engine.run(built[0], QUICK)
        assert (alone.kept, alone.lost_incumbent) == (None, False)
        leader = engine.run(built[1], Comparing())
        assert (leader.status, leader.lost_incumbent) == ("ok", False)
        assert leader.kept.status == "ok"
        engine.discard(leader.kept)

    def test_an_incumbent_meets_many_candidates(self, engine, check):
        policy = Comparing()
        first, *others = engine.build([kernel("fine")] * 4, check)
        incumbent = engine.run(first, policy).kept
        best_s = 1.0
        for built in others:
            outcome = engine.run(built, policy, best_s=best_s, incumbent=incumbent)
            assert (outcome.status, outcome.latencies_s) == ("ok", (best_s / 2,))
            assert not outcome.lost_incumbent
            engine.discard(outcome.kept)
        assert len(policy.asked) == 4
        engine.discard(incumbent)
        engine.discard(incumbent)

    def test_an_incumbent_may_be_built_again(self, engine, check):
        policy = Comparing()
        incumbent, built = engine.build([kernel("fine")] * 2, check)
        outcome = engine.run(built, policy, best_s=1.0, incumbent=incumbent)
        assert (outcome.status, outcome.lost_incumbent) == ("ok", False)
        for kept in (incumbent, outcome.kept):
            engine.discard(kept)

    def test_a_wrong_program_takes_no_lead(self, engine, check):
        incumbent, built = engine.build([kernel("fine"), kernel("wrong")], check)
        outcome = engine.run(built, Comparing(), best_s=1.0, incumbent=incumbent)
        assert (outcome.status, outcome.kept) == ("wrong-result", None)
        engine.discard(incumbent)

    @pytest.mark.slow
    def test_what_is_kept_takes_no_place(self, engine, check):
        kept = []
        for _ in range(2):
            [built] = engine.build([kernel("fine")], check)
            kept.append(engine.run(built, Comparing()).kept)
        built = engine.build([kernel("fine")] * engine.capacity, check)
        assert {program.status for program in built} == {"ok"}
        for program in (*built, *kept):
            engine.discard(program)

    def test_a_policy_that_compares_nothing_ignores_the_incumbent(self, engine, check):
        incumbent, built = engine.build([kernel("fine")] * 2, check)
        outcome = engine.run(built, QUICK, best_s=1.0, incumbent=incumbent)
        assert (outcome.status, outcome.kept, outcome.lost_incumbent) == ("ok", None, False)
        engine.discard(incumbent)

    def test_a_wrong_output_is_a_failed_trial(self, engine, check):
        [outcome] = measured(engine, ["wrong"], check)
        assert outcome.status == "wrong-result"
        assert "64 of 64 elements differ" in outcome.error
        assert outcome.latencies_s == ()

    def test_without_a_check_nothing_is_wrong(self, engine):
        assert measured(engine, ["wrong"], None)[0].status == "ok"

    def test_a_would_be_winner_is_checked(self, engine, check):
        [winner] = measured(engine, ["wrong"], check, best_s=1.0)
        assert winner.status == "wrong-result"

    def test_the_check_is_that_of_the_build(self, engine, check):
        other = dataclasses.replace(check, expected=check.expected * 2)
        statuses = [measured(engine, ["fine"], given)[0].status for given in (check, other, check)]
        assert statuses == ["ok", "wrong-result", "ok"]

    def test_what_is_discarded_can_be_discarded_again(self, engine, check):
        fine, broken = engine.build([kernel("fine"), kernel("unbuildable")], check)
        for built in (fine, fine, broken, Built("build-error", 0.1, "planted")):
            engine.discard(built)
        assert measured(engine, ["fine"], check)[0].status == "ok"

    def test_side_by_side_each_has_its_place(self, engine, check):
        kinds = ("fine", "wrong", "unbuildable", "fine")
        programs = [kernel(kind) for kind in kinds]
        outcomes = engine.measure_side_by_side(programs, check, TWO_SETS)
        statuses = [outcome.status for outcome in outcomes]
        assert statuses == ["ok", "wrong-result", "build-error", "ok"]
        first, wrong, unbuildable, last = outcomes
        for failed in (wrong, unbuildable):
            assert failed.error
            assert failed.latencies_s == failed.sets == failed.places == ()
        assert len(first.latencies_s) == len(last.latencies_s) == 2 * TURNS
        assert first.sets == last.sets == (0,) * TURNS + (1,) * TURNS

    def test_the_output_of_a_program_is_what_it_computes(self, engine, check):
        computed = engine.outputs(kernel("fine"), check)
        assert computed.call_s > 0.0
        np.testing.assert_allclose(*computed.given, check.expected, rtol=1e-6)
        np.testing.assert_allclose(*computed.fresh, check.fresh.expected, rtol=1e-6)
        [wrong] = engine.outputs(kernel("wrong"), check).given
        np.testing.assert_allclose(wrong, 1.5 * check.expected, rtol=1e-6)

    def test_an_answer_that_is_remembered_is_wrong(self, engine, check):
        fresh = dataclasses.replace(check.fresh, inputs=check.inputs, expected=check.expected)
        same = dataclasses.replace(check, fresh=fresh)
        for known, status in ((same, "ok"), (check, "wrong-result")):
            [built] = engine.build([answering(check)], known)
            outcome = engine.run(built, QUICK)
            assert outcome.status == status
        assert outcome.error.startswith("with inputs that it was not timed on, ")

    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "int64", "bool"])
    def test_any_type_of_data_is_handed_over_and_compared(self, engine, dtype):
        inputs = (np.arange(60).reshape(5, 12) % 7 > 3).astype(dtype)
        check = Check((inputs,), (inputs[::-1], inputs[:1]), 0.0, 0.0)
        [built] = engine.build([reversing(dtype)], check)
        assert engine.run(built, QUICK).status == "ok"
        wrong = dataclasses.replace(check, expected=(inputs[::-1], inputs[1:2]))
        [built] = engine.build([reversing(dtype)], wrong)
        outcome = engine.run(built, QUICK)
        assert outcome.status == "wrong-result"
        assert outcome.error.startswith("output 1: ")

    def test_a_program_without_an_output_says_why(self, engine, check):
        with pytest.raises(UntunedError, match="build-error"):
            engine.outputs(kernel("unbuildable"), check)

    def test_a_network_goes_the_same_way(self, engine):
        network = Program.network(MLP.program())
        check, _ = network_check(engine, MLP, MLP.program(), MLP.tasks())
        wrong = dataclasses.replace(check, expected=1.1 * check.expected[0])
        fine, again = engine.measure_side_by_side([network, network], check, TWO_SETS)
        assert fine.status == again.status == "ok"
        assert len(fine.latencies_s) == len(again.latencies_s) == 2 * TURNS
        [built] = engine.build([network], check)
        assert engine.run(built, QUICK).status == "ok"
        [off] = engine.measure_side_by_side([network], wrong, TWO_SETS)
        assert off.status == "wrong-result"
        assert "differ from the reference" in off.error

    def test_a_network_may_return_parts_of_parts(self, engine):
        given, fresh = (
            Check((x, SCALE), (x * SCALE, x * SCALE + x, x), (1e-6,) * 3, (1e-6,) * 3)
            for x in np.random.default_rng(0).uniform(-1, 1, (2, 8)).astype(np.float32)
        )
        check = dataclasses.replace(given, fresh=fresh)
        computed = engine.outputs(parts(), check)
        for arrays, right in ((computed.given, given), (computed.fresh, fresh)):
            assert mismatch(arrays, right) == ""
        [built] = engine.build([parts()], check)
        assert engine.run(built, QUICK).status == "ok"
        other = dataclasses.replace(fresh, expected=given.expected)
        [built] = engine.build([parts()], dataclasses.replace(check, fresh=other))
        outcome = engine.run(built, QUICK)
        assert outcome.status == "wrong-result"
        assert "with inputs that it was not timed on, output 0: 8 of 8" in outcome.error


class TurnsContract(_Checked):
    """How programs take turns side by side; inherit it like `EngineContract`."""

    def test_a_turn_is_over_before_the_next(self, engine, check):
        programs = [kernel(kind) for kind in ("wrong", "fine", "fine", "unbuildable")]
        _, one, other, _ = engine.measure_side_by_side(programs, check, TWO_SETS)
        turns = list(zip(one.places, other.places, strict=True))
        assert all(max(turn) < min(then) for turn, then in itertools.pairwise(turns))

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_all_run_in_every_turn_in_the_order_of_the_effort(self, engine, check, count):
        outcomes = engine.measure_side_by_side([kernel("fine")] * count, check, TWO_SETS)
        assert all(latency_s > 0 for outcome in outcomes for latency_s in outcome.latencies_s)
        for turn in range(2 * TURNS):
            places = {outcomes[who].places[turn]: who for who in range(count)}
            assert sorted(places) == list(range(turn * count, (turn + 1) * count))
            assert [places[place] for place in sorted(places)] == [*TWO_SETS.order(turn, count)]

    def test_without_a_precision_it_takes_the_most(self, engine, check):
        effort = dataclasses.replace(TWO_SETS, turns=Span(1, 3), sets=Span(1, 2), precision=0.0)
        for outcome in engine.measure_side_by_side([kernel("fine")] * 2, check, effort):
            assert outcome.sets == (0, 0, 0, 1, 1, 1)

    def test_one_alone_takes_the_least(self, engine, check):
        effort = dataclasses.replace(TWO_SETS, turns=Span(2, 9), sets=Span(2, 9))
        [outcome] = engine.measure_side_by_side([kernel("fine")], check, effort)
        assert outcome.sets == (0, 0, 1, 1)

    def test_goes_on_after_any_set(self, engine, check):
        programs = [kernel(kind) for kind in ("fine", "wrong", "fine")]
        first, whole = engine.measure_sets(programs, check, TWO_SETS)
        assert first.outcomes[0].sets == (0,) * TURNS
        assert 0 < first.elapsed_s < whole.elapsed_s
        [resumed] = engine.measure_sets(programs, check, TWO_SETS, first)
        assert resumed.elapsed_s > first.elapsed_s
        for before, after, at_once in zip(
            first.outcomes, resumed.outcomes, whole.outcomes, strict=True
        ):
            assert (after.status, after.sets) == (at_once.status, at_once.sets)
            assert after.places == at_once.places
            assert after.latencies_s[:TURNS] == before.latencies_s
        assert [*engine.measure_sets(programs, check, TWO_SETS, resumed)] == []
