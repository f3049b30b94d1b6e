"""Slices here: what a program may do in the middle of it, and what happens to its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from pytest_ansorbench.measure.local.side_by_side import TurnTaking
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.untuned import network_check
from tests.faults import counting, fickle, kernel
from tests.interpreters import WITHOUT_TORCH
from tests.measure.engine_contract import MLP
from tests.measure.local.processes import gone, server, workers

TURNS = 3
TWO_SETS = SideBySide(slice_ms=0.1, turns=Span(TURNS, TURNS), sets=Span(2, 2))
ONE_SET = replace(TWO_SETS, sets=Span(1, 1))
BOTH_SETS = (0,) * TURNS + (1,) * TURNS


@dataclass(frozen=True, kw_only=True)
class Disturbed(SideBySide):
    """An effort that does something else in the middle of it.

    Attributes:
        in_turn: Called before a turn, with its number.
        after_set: Called after a set, with the number of sets.
    """

    in_turn: Callable[[int], object] = lambda turn: None
    after_set: Callable[[int], object] = lambda sets: None

    def order(self, turn, programs):
        self.in_turn(turn)
        return super().order(turn, programs)

    def ends(self, sets, ratios, elapsed_s):
        self.after_set(sets)
        return super().ends(sets, ratios, elapsed_s)


def disturbed(effort, **actions):
    return Disturbed(
        slice_ms=effort.slice_ms,
        turns=effort.turns,
        sets=effort.sets,
        **actions,
    )


def statuses(outcomes):
    return [outcome.status for outcome in outcomes]


def test_processes_end_with_their_set(engine, check):
    seen = []
    effort = disturbed(
        TWO_SETS,
        in_turn=lambda turn: seen.append((turn, tuple(child.pid for child in workers(engine)))),
        after_set=lambda sets: seen.append((sets, tuple(workers(engine)))),
    )
    engine.measure_side_by_side([kernel("fine")] * 2, check, effort)
    assert not workers(engine)
    turns = [seen[:TURNS], seen[TURNS + 1 : -1]]
    assert [[turn for turn, _ in of_set] for of_set in turns] == [[0, 1, 2], [3, 4, 5]]
    [first], [second] = ({pids for _, pids in of_set} for of_set in turns)
    assert len(first) == len(second) == 2
    assert not {*first} & {*second}
    assert seen[TURNS] == (1, ())


def test_whose_turn_it_is_not_is_suspended(engine, check):
    """TVM's threads busy-wait after a call; those of several would keep the cores from one."""
    seen = []

    def look(turn):
        deadline = time.monotonic() + 10  # the operating system takes a moment
        while len(stopped()) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        seen.append(len(stopped()))

    def stopped():
        return [child for child in workers(engine) if child.status() == psutil.STATUS_STOPPED]

    engine.measure_side_by_side([kernel("fine")] * 3, check, disturbed(ONE_SET, in_turn=look))
    assert seen == [3] * TURNS


@pytest.mark.slow
def test_a_parent_that_is_killed_leaves_no_suspended_process():
    process, pids = _measuring()
    with process:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    gone(pids)


def test_a_crash_costs_its_own_place(engine, check):
    programs = [kernel(kind) for kind in ("crash", "fine", "fine")]
    outcomes = engine.measure_side_by_side(programs, check, TWO_SETS)
    assert statuses(outcomes) == ["run-error", "ok", "ok"]
    assert "SIGABRT" in outcomes[0].error
    assert outcomes[1].sets == outcomes[2].sets == BOTH_SETS
    assert not workers(engine)


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [("crash", "run-error", "SIGABRT"), ("wrong", "wrong-result", "1 of 64 elements differ")],
)
@pytest.mark.parametrize("place", [0, 1])
def test_who_fails_in_its_second_set_is_out(engine, check, tmp_path, kind, status, reason, place):
    trigger = tmp_path / "trigger"
    programs = [kernel("fine"), kernel("fine")]
    programs.insert(place, fickle(kind, trigger))
    effort = disturbed(TWO_SETS, after_set=lambda sets: trigger.touch())
    outcomes = engine.measure_side_by_side(programs, check, effort)
    failed = outcomes.pop(place)
    assert failed.status == status
    assert reason in failed.error
    assert failed.latencies_s == failed.sets == failed.places == ()
    assert statuses(outcomes) == ["ok", "ok"]
    assert outcomes[0].sets == outcomes[1].sets == BOTH_SETS


def test_who_has_failed_is_not_built_again(engine, check, tmp_path):
    forked = []
    effort = disturbed(
        replace(TWO_SETS, sets=Span(3, 3)),
        in_turn=lambda turn: forked.append(len(workers(engine))),
    )
    programs = [kernel("wrong"), kernel("fine")]
    outcomes = engine.measure_side_by_side(programs, check, effort)
    assert statuses(outcomes) == ["wrong-result", "ok"]
    assert forked == [2] * TURNS + [1] * 2 * TURNS


def test_where_all_fail_it_ends(engine, check):
    programs = [kernel(kind) for kind in ("wrong", "unbuildable", "crash")]
    outcomes = engine.measure_side_by_side(programs, check, TWO_SETS)
    assert statuses(outcomes) == ["wrong-result", "build-error", "run-error"]


def test_a_process_killed_from_outside_costs_that_set_which_counts_once(engine, check):
    kills = iter([1, 2])
    # Of the second set, the second program has the first process.
    effort = disturbed(
        TWO_SETS,
        in_turn=lambda turn: turn == TURNS + 1 and next(kills, 0) and workers(engine)[0].kill(),
    )
    outcomes = engine.measure_side_by_side([kernel("fine")] * 3, check, effort)
    assert statuses(outcomes) == ["ok", "ok", "ok"]
    assert all(outcome.sets == BOTH_SETS for outcome in outcomes)
    assert next(kills, None) is None


def test_a_process_killed_each_time_fails_alone(engine, check):
    effort = disturbed(
        TWO_SETS, in_turn=lambda turn: turn == TURNS + 1 and workers(engine)[0].kill()
    )
    outcomes = engine.measure_side_by_side([kernel("fine")] * 3, check, effort)
    assert statuses(outcomes) == ["ok", "run-error", "ok"]
    assert "SIGKILL" in outcomes[1].error


def test_a_server_killed_in_a_set_costs_that_set_which_counts_once(engine, check):
    restarts, victims = engine.restarts, [server(engine)]
    effort = disturbed(
        TWO_SETS, in_turn=lambda turn: turn == TURNS + 1 and victims and victims.pop().kill()
    )
    outcomes = engine.measure_side_by_side([kernel("fine")] * 2, check, effort)
    assert engine.restarts == restarts + 1
    assert statuses(outcomes) == ["ok", "ok"]
    assert all(outcome.sets == BOTH_SETS for outcome in outcomes)
    places = [place for outcome in outcomes for place in outcome.places]
    assert sorted(places) == list(range(2 * 2 * TURNS))


def test_servers_killed_between_sets_cost_nothing_and_are_not_deaths_in_a_row(engine, check):
    restarts = engine.restarts
    effort = disturbed(
        replace(TWO_SETS, sets=Span(5, 5)),
        after_set=lambda sets: sets < 5 and server(engine).kill(),
    )
    [outcome] = engine.measure_side_by_side([kernel("fine")], check, effort)
    assert outcome.status == "ok"
    assert outcome.sets == tuple(number for number in range(5) for _ in range(TURNS))
    assert engine.restarts == restarts + 4


def test_out_of_time_each_program_has_a_slice(engine, check):
    effort = replace(TWO_SETS, most_s=0.0)
    outcomes = engine.measure_side_by_side([kernel("fine")] * 2, check, effort)
    assert [outcome.sets for outcome in outcomes] == [(0,), (0,)]


def test_a_slice_of_a_slow_kernel_is_one_call_after_one_that_does_not_count(
    engine, check, tmp_path
):
    calls = tmp_path / "calls"
    calls.touch()
    [outcome] = engine.measure_side_by_side([counting(calls, sleep_us=10_000)], check, ONE_SET)
    assert min(outcome.latencies_s) >= 0.01
    # A first call, two attempts at a slice, the slices, one more, and one with fresh inputs.
    assert calls.stat().st_size == 1 + 2 * 2 + 2 * TURNS + 2


def test_a_slice_of_a_quick_kernel_is_many_calls(engine, check, tmp_path):
    calls = tmp_path / "calls"
    calls.touch()
    [outcome] = engine.measure_side_by_side(
        [counting(calls)], check, replace(ONE_SET, slice_ms=50.0)
    )
    assert outcome.status == "ok"
    assert calls.stat().st_size > 10 * TURNS


class Timed:
    """A program that says how long a call takes, and keeps how many calls it was asked for."""

    surroundings = None

    def __init__(self, call_s):
        self.asked = []
        self._call_s = call_s

    def first_call(self):
        return self._call_s

    def time(self, calls):
        self.asked.append(calls)
        return (self._call_s,)

    def nothing(self):
        """All else that is asked of it."""

    make_arguments = suspend = resume = verify = end = nothing


class Attempting:
    """A runner whose attempts succeed."""

    is_cold = False

    def attempt(self, program, work):
        work(program)
        return Measured("ok")


@pytest.mark.parametrize(
    ("call_s", "asked"),
    [(1e-5, [50, 500, *[100, 500] * TURNS]), (0.5, [1, 1, *[1] * TURNS]), (1.0, [1] * TURNS)],
)
def test_a_fifth_of_a_slices_calls_runs_before_it_uncounted(call_s, asked):
    """What takes a second is not tried out before."""
    program = Timed(call_s)
    effort = replace(ONE_SET, slice_ms=5.0)
    built = [Built("ok", 0.0, handle=program)]
    turns = TurnTaking(1, effort, Attempting(), lambda lineup: built, [])
    [after] = turns.measure()
    [outcome] = after.outcomes
    assert outcome.latencies_s == (call_s,) * TURNS
    assert program.asked == asked


def test_with_cold_caches_a_slice_is_one_call(cold, tmp_path):
    calls = tmp_path / "calls"
    calls.touch()
    outcomes = cold.measure_side_by_side([kernel("fine"), counting(calls)], None, TWO_SETS)
    assert [outcome.sets for outcome in outcomes] == [BOTH_SETS] * 2
    assert calls.stat().st_size == 2 * (1 + 2 * TURNS)


def test_a_network_with_cold_caches_goes_the_same_way(cold):
    network = Program.network(MLP.program())
    check, _ = network_check(cold, MLP, MLP.program(), MLP.tasks())
    outcomes = cold.measure_side_by_side([network, network], check, TWO_SETS)
    assert statuses(outcomes) == ["ok", "ok"]
    assert [outcome.sets for outcome in outcomes] == [BOTH_SETS] * 2


def test_rests_are_not_a_program_s_own_time(engine, check, monkeypatch):
    monkeypatch.setattr(engine.runner, "_settings", EngineSettings(run_timeout_s=0.2))
    effort = replace(ONE_SET, rest_ms=300.0, turns=Span(1, 1))
    [outcome] = engine.measure_side_by_side([kernel("fine")], check, effort)
    assert outcome.status == "ok"


def _measuring():
    """A process that measures two programs side by side, and its children's numbers."""
    script = """
        import signal
        import psutil
        from pytest_ansorbench.environment import resolve_target
        from pytest_ansorbench.measure.local.engine import LocalEngine
        from pytest_ansorbench.measure.side_by_side import SideBySide, Span
        from tests.faults import Doubling, kernel

        class Telling(SideBySide):
            def order(self, turn, programs):
                if turn == 1:
                    server = psutil.Process(engine.server_pid)
                    print(server.pid, *(child.pid for child in server.children()), flush=True)
                return super().order(turn, programs)

        # What runs in the background inherits an ignored one.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        effort = Telling(precision=0.0, turns=Span(10**6, 10**6))
        with LocalEngine(resolve_target(None)) as engine:
            engine.measure_side_by_side([kernel("fine")] * 2, Doubling().check(), effort)
        """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        env=WITHOUT_TORCH,
    )
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 3
    return process, pids


@pytest.mark.slow
def test_an_interrupt_leaves_no_process():
    process, pids = _measuring()
    with process:
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    gone(pids)


def test_a_set_that_time_cuts_short_counts_only_if_it_is_the_first(engine, check):
    late = replace(TWO_SETS, most_s=0.0)
    [outcome] = engine.measure_side_by_side([kernel("fine")], check, late)
    assert outcome.sets == (0,)

    @dataclass(frozen=True, kw_only=True)
    class LateInSecondSet(SideBySide):
        def ends_set(self, turns, ratios, elapsed_s):
            cut_short = bool(begun[1:]) and turns == 1
            return cut_short or super().ends_set(turns, ratios, elapsed_s)

        def ends(self, sets, ratios, elapsed_s):
            begun.append(sets)
            return super().ends(sets, ratios, elapsed_s)

    begun = [0]
    effort = LateInSecondSet(slice_ms=0.1, turns=TWO_SETS.turns, sets=TWO_SETS.sets)
    [outcome] = engine.measure_side_by_side([kernel("fine")], check, effort)
    assert outcome.sets == (0,) * TURNS


def test_the_seconds_of_sets_before_count(engine, check):
    programs, effort = [kernel("fine")], replace(TWO_SETS, most_s=600.0)
    first, _ = engine.measure_sets(programs, check, effort)
    late = replace(first, elapsed_s=600.0)
    assert [*engine.measure_sets(programs, check, effort, late)] == []
    [after] = engine.measure_sets(programs, check, effort, first)
    assert after.outcomes[0].sets == BOTH_SETS
