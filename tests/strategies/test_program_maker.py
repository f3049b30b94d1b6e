"""Programs are made of sketches and traces, the same whatever the threads do."""

from __future__ import annotations

import random

import pytest

from pytest_ansorbench.strategies import ProgramMaker, draw_seed, mutate, undecided
from pytest_ansorbench.workloads import Softmax
from tests.strategies.setups import make_setup


@pytest.fixture
def setup(target):
    return make_setup(target)


@pytest.fixture
def maker(setup):
    return ProgramMaker(setup.context)


def sampled(setup, maker, count, seed=0):
    source = random.Random(seed)
    sketches = source.choices(undecided(setup.sketches), k=count)
    return maker.sample(sketches, [draw_seed(source) for _ in sketches])


def fingerprints(programs):
    return [program.fingerprint for program in programs]


def test_equal_seeds_give_equal_programs_in_equal_order(setup, maker):
    one, again, other = (sampled(setup, maker, 40, seed) for seed in (1, 1, 2))
    assert fingerprints(one) == fingerprints(again) != fingerprints(other)
    assert len(set(fingerprints(one))) > 30


def test_a_recorded_trace_gives_the_program_that_it_is_of(setup, maker):
    programs = sampled(setup, maker, 20)
    again = maker.recall([program.schedule.trace for program in programs])
    assert fingerprints(again) == fingerprints(programs)


def test_a_trace_that_does_not_apply_gives_no_program(setup, maker, target):
    other = make_setup(target, case=Softmax(m=32, n=32))
    [foreign] = sampled(other, ProgramMaker(other.context), 1)
    [program] = sampled(setup, maker, 1)
    traces = [foreign.schedule.trace, program.schedule.trace]
    assert maker.replay(traces[0], 1) is None
    assert fingerprints(maker.recall(traces)) == [program.fingerprint]


def test_programs_are_those_of_schedules_made_anew(setup, maker):
    from tvm.s_tir import Schedule
    from tvm_ffi import structural_hash

    traces, seeds = undecided(setup.sketches) * 4, range(1, 4 * len(setup.sketches) + 1)
    for trace, seed, program in zip(traces, seeds, maker.sample(traces, seeds), strict=True):
        anew = Schedule(setup.context.mod, seed=seed, debug_mask="none")
        trace.apply_to_schedule(anew, remove_postproc=True)
        anew.enter_postproc()
        assert all(one.apply(anew) for one in setup.context.space_generator.postprocs)
        assert structural_hash(anew.mod) == program.fingerprint


def test_mutations_are_those_of_their_seed(setup, maker):
    [parent] = sampled(setup, maker, 1)
    tiles = next(iter(setup.context.space_generator.mutator_probs))
    traces = [mutate(tiles, parent.schedule.trace, seed) for seed in (1, 1, 2)]
    one, again, other = fingerprints(maker.recall(traces))
    assert one == again != other
    # The parent's trace is as it was.
    assert fingerprints(maker.recall([parent.schedule.trace])) == [parent.fingerprint]


def test_a_map_keeps_the_order_and_passes_errors_on(maker):
    assert maker.map(lambda item: item * item, range(100)) == [n * n for n in range(100)]
    with pytest.raises(ZeroDivisionError):
        maker.map(lambda item: 1 / item, [1, 0])
