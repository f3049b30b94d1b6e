"""Winners made again: which, held to which outputs, beside which latencies."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pytest_ansorbench.kernels import (
    NoReferenceError,
    Rebuilding,
    fastest,
    fastest_of_arms,
    rebuilding,
)
from pytest_ansorbench.kernels.rebuilding import another_machine, as_recorded, noise_then
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.records import MachineNoise, NoiseTrace, Remeasurement
from pytest_ansorbench.records.rebuilt_kernels import RECORDED, KernelSide
from pytest_ansorbench.winners import winners_of
from pytest_ansorbench.workloads.definition import definition_of
from tests.fast_engine import FastEngine
from tests.winners.conftest import MATMUL, MLP, found_so, tuned

__all__ = ["tuned"]

EFFORT = SideBySide(slice_ms=0.1, turns=Span(3, 3), sets=Span(2, 2))
BOTH = (Toolchain("against", python="another"), Toolchain())


class Noting:
    """Toolchains that note what they are given; the first makes everything twice as fast."""

    def __init__(self, target):
        self.own = FastEngine(target)
        self.own.start()
        self.given = []

    def named(self, target, settings, toolchains):
        self.settings = settings
        self.names = [one.name for one in toolchains]
        return self

    def rebuild(self, jobs, effort, note):
        note(f"{len(jobs)} kernels")
        sets = (0, 0, 1, 1)
        for place, job in reversed([*enumerate(jobs)]):
            self.given.append((job, effort))
            yield (
                place,
                tuple(
                    KernelSide(
                        name,
                        Remeasurement(None, "ok", (seconds,) * 4, "", sets, (0, 1, 2, 3)),
                        (0.1, 0.2),
                        1000,
                    )
                    for name, seconds in zip(self.names, (1e-3, 2e-3), strict=False)
                ),
            )


@pytest.fixture
def toolchains(target, monkeypatch):
    """What stands for those that would compile."""
    noting = Noting(target)
    monkeypatch.setattr(rebuilding, "local_toolchains", noting.named)
    return noting


def made(tuned, rows, case_of=lambda winner: None, **options):
    """Kernels of as many toolchains as a row has winners."""
    winners = [winner for row in rows for winner in row]
    compared = BOTH[-len(rows[0]) :]
    return Rebuilding([tuned], winners, compared).make(rows, EFFORT, case_of, **options)


def test_the_fastest_of_each_task_is_made_whichever_arm_found_it(tuned):
    every = [*winners_of(tuned)]
    chosen = fastest(every)
    assert [(one.case, one.place) for one in chosen] == [
        *dict.fromkeys((w.case, w.place) for w in every)
    ]
    for one in chosen:
        of_task = [w for w in every if (w.case, w.place) == (one.case, one.place)]
        assert one.latency_s == min(w.latency_s for w in of_task)


def both(winners):
    """Each for both toolchains."""
    return [(winner, winner) for winner in winners]


def test_of_arms_only_tasks_in_common_are_compared(tuned):
    every = [*winners_of(tuned)]
    [(random, again)] = fastest_of_arms(every, ["random", "again"])
    assert (random.strategy, again.strategy) == ("random", "again")
    assert random.case == again.case == MATMUL.id
    other = [dataclasses.replace(w, program="x") if w.strategy == "again" else w for w in every]
    assert fastest_of_arms(other, ["random", "again"]) == []


def test_operators_are_held_to_their_twins_and_others_to_their_unscheduled_programs(
    tuned, toolchains
):
    winners = fastest(winners_of(tuned))
    kernels = made(
        tuned,
        both(winners),
        lambda winner: MATMUL if winner.case == MATMUL.id else None,
    )
    *rest, (first, effort) = toolchains.given
    assert effort is EFFORT
    matmul, check = first.kernels[0], first.check
    assert matmul.schedule == winners[0].schedule and matmul.program == winners[0].program
    assert matmul.definition == definition_of(MATMUL)
    assert all(kernel.definition is None for job, _ in rest for kernel in job.kernels)
    assert np.array_equal(check.expected, MATMUL.tasks()[0].check.expected)
    assert all(job.check is not None for job, _ in rest)
    assert [kernel.name for kernel in kernels] == [
        MATMUL.id,
        *(f"{MLP.id}#{place}" for place in range(len(rest))),
    ]
    first = kernels[0]
    assert [side.toolchain for side in first.sides] == ["against", "today"]
    assert first.sides[0].build_s == (0.1, 0.2) and first.sides[0].code_bytes == 1000
    assert (first.strategy, first.seed) == (winners[0].strategy, winners[0].seed)
    assert first.flops == MATMUL.flops


def test_a_kernel_of_several_arms_has_the_name_of_the_first(tuned, toolchains):
    [row] = fastest_of_arms([*winners_of(tuned)], ["again", "random"])
    [kernel] = made(tuned, [row])
    assert (kernel.strategy, kernel.seed) == ("again", row[0].seed)


def test_a_case_that_is_another_by_now_does_not_say_what_is_right(tuned, toolchains):
    winner = fastest(winners_of(tuned))[0]
    larger = dataclasses.replace(MATMUL, m=32)
    made(tuned, both([winner]), lambda winner: larger)
    [(job, _)] = toolchains.given
    assert job.check.outputs[0].expected.shape == MATMUL.tasks()[0].check.expected.shape


def test_recorded_latencies_are_the_reference_of_a_single_toolchain(tuned, toolchains):
    winner, *_ = fastest(winners_of(tuned))
    [kernel] = made(tuned, [[winner]])
    assert [side.toolchain for side in kernel.sides] == [RECORDED, "today"]
    assert kernel.sides[0].measured == winner.measured


def test_what_was_not_measured_again_has_no_recorded_latency(tuned, toolchains):
    winner = dataclasses.replace(fastest(winners_of(tuned))[0], measured=None)
    [kernel] = made(tuned, [[winner]])
    assert kernel.sides[0].measured.status == "run-error"
    assert "not measured again" in kernel.sides[0].measured.error


def test_it_says_how_far_it_is(tuned, toolchains):
    said = []
    winners = fastest(winners_of(tuned))
    made(tuned, both(winners), note=said.append)
    assert said == [f"{len(winners)} kernels"]


def test_another_machine_is_told_by_what_differs(tuned):
    winners = [*winners_of(tuned)]
    machine = tuned.machines[winners[0].machine]
    assert another_machine([tuned], winners, machine) == ""
    other = {**machine, "cpu": "abacus"}
    assert "is now abacus" in another_machine([tuned], winners, other)


def test_caches_are_as_recorded_if_they_were_cold(tuned, toolchains):
    cold = dataclasses.replace(found_so(tuned, "cold"), settings={"flush_cache_mb": 96})
    made(cold, [[winner] for winner in fastest(winners_of(cold))])
    assert toolchains.settings == EngineSettings(caches="cold", flush_cache_mb=96)
    made(tuned, [[winner] for winner in fastest(winners_of(tuned))])
    assert toolchains.settings == EngineSettings()


@pytest.mark.parametrize("caches", ["cold", "network"])
def test_latencies_with_other_caches_are_no_reference(tuned, toolchains, caches):
    winners = fastest(winners_of(found_so(tuned, caches)))
    with pytest.raises(NoReferenceError, match=rf"with other caches \({caches} is now warm\)"):
        Rebuilding([tuned], winners, BOTH[1:], settings=EngineSettings())
    Rebuilding([tuned], winners, BOTH, settings=EngineSettings())


def test_cores_and_limits_are_as_recorded(tuned, toolchains):
    bound = dataclasses.replace(tuned, settings={"cores": [1], "memory_limit_mb": 9000})
    slow = dataclasses.replace(bound, settings={"cores": [1], "run_timeout_s": 99.0})
    winners = fastest(winners_of(tuned))
    settings = as_recorded([bound, slow], winners)
    assert settings == EngineSettings(cores=(1,), memory_limit_mb=9000, run_timeout_s=99.0)
    Rebuilding([bound, slow], winners, BOTH[1:])
    assert toolchains.settings == settings
    Rebuilding([bound, slow], winners, BOTH)
    assert toolchains.settings == dataclasses.replace(settings, cores=None)


@pytest.mark.parametrize(
    ("cores", "difference"), [((None, [1]), "1 is now any"), (([0], [0, 1]), "0,1 is now 0")]
)
def test_latencies_on_several_cores_are_no_reference(tuned, toolchains, cores, difference):
    results = [dataclasses.replace(tuned, settings={"cores": one}) for one in cores]
    with pytest.raises(NoReferenceError, match=rf"measured on other cores \({difference}\)"):
        Rebuilding(results, fastest(winners_of(tuned)), BOTH[1:])


def test_latencies_on_cores_that_are_not_there_are_no_reference(tuned):
    bound = dataclasses.replace(tuned, settings={"cores": [99999]})
    with pytest.raises(NoReferenceError, match=r"on other cores \(99999: expected some of"):
        Rebuilding([bound], fastest(winners_of(tuned)), BOTH[1:])


def test_only_the_noise_of_the_winners_machines_counts(tuned):
    winners = [*winners_of(tuned)]
    trace = NoiseTrace(0.003, 1.0, (1e-3,) * 20, (0, 1) * 10)
    noise = tuple(
        MachineNoise(machine, "start", "2026-11-23T00:00:00+00:00", trace)
        for machine in (winners[0].machine, "another")
    )
    machines = {**tuned.machines, "another": {}}
    seen = dataclasses.replace(tuned, machines=machines, noise=noise)
    assert noise_then([seen], winners) == (trace,)


def test_nothing_is_made_of_nothing(tuned, toolchains):
    rebuilding = Rebuilding([tuned], [*winners_of(tuned)], BOTH)
    assert rebuilding.make([], EFFORT, lambda winner: None) == rebuilding.rebuilt.kernels == ()


def test_a_program_that_cannot_be_read_is_held_to_nothing(tuned, toolchains):
    winner = dataclasses.replace(fastest(winners_of(tuned))[0], program="spoiled")
    made(tuned, both([winner]), lambda winner: MATMUL)
    [(job, _)] = toolchains.given
    assert job.check is None
