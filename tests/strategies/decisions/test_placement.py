"""Where padding is computed: by TVM's rules, to the same programs and records."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tvm_ffi import structural_hash

from pytest_ansorbench import workloads
from pytest_ansorbench.search.candidates import pack, unpack
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.strategies import ProgramMaker
from pytest_ansorbench.strategies.decisions.placement import (
    Loop,
    Placement,
    possible,
    probed_locations,
)
from pytest_ansorbench.strategies.decisions.traced import TracedSpace
from tests.strategies.setups import FAMILIES, context_of, every_family, spaces_of

S0, R, S1 = Loop(0, 0, False), Loop(1, 0, True), Loop(0, 1, False)


@pytest.mark.parametrize(
    ("loops", "decisions", "expected"),
    [
        ([S0, R, S1], [[4, 2], [3]], [0, 1]),  # S1 is within a reduction
        ([S0, R, S1], [[4, 2], [1]], [0, 2]),  # which has no more than one step here
        ([S0, R, S1], [[1, 2], [3]], [1]),
        ([S0, R, S1], [[1, 1], [1]], []),
        ([S0, S1, R], [[4, 2], [3]], [0, 1]),  # a reduction within all others
        ([S0, R, R, S1], [[4, 2], [3]], [0, 1, 2]),
        ([R], [[], [3]], []),
        ([], [], []),
    ],
)
def test_what_is_possible_depends_on_steps_and_reductions(loops, decisions, expected):
    assert possible(loops, decisions) == expected


def was_placed(program) -> bool:
    """Whether a rule said where padding is computed: then the schedule's own trace is another."""
    return not program.trace.same_as(program.schedule.trace)


def checked(spaces, maker, vectors_each) -> tuple[int, int]:
    """How many vectors make programs, all with TVM's trace; and how many without asking TVM."""
    rng = np.random.default_rng(0)
    same = placed = 0
    for space in spaces:
        for vector in map(tuple, space.draw(vectors_each, rng).tolist()):
            ours, theirs = space.program(vector, maker), maker.replay(space.trace(vector), 1)
            assert (ours is None) == (theirs is None)
            if ours is None or theirs is None:
                continue
            same += 1
            assert ours.fingerprint == theirs.fingerprint
            assert ours.trace.as_json() == theirs.trace.as_json()
            placed += was_placed(ours)
    return same, placed


@every_family
def test_programs_and_their_traces_are_those_of_tvm(target, name):
    spaces, maker, _ = spaces_of(target, FAMILIES[name])
    same, placed = checked(spaces, maker, vectors_each=3)
    assert same >= 1.5 * len(spaces)
    if name in ("Conv1d", "Conv2d", "Conv3d", "DepthwiseConv2d", "TransposedConv2d"):
        assert placed >= 0.5 * same


def test_padded_layers_of_a_network_are_placed(target):
    tasks = [one for one in workloads.get("resnet18-n1-s224").tasks() if "conv2d" in one.name][:3]
    for task in tasks:
        context = context_of(target, task)
        maker = ProgramMaker(context)
        sketches = enumerate(context.generate_design_space())
        same, placed = checked([TracedSpace(*one, maker) for one in sketches], maker, 4)
        assert same and placed >= 0.5 * same


def test_choices_are_those_that_programs_of_tvm_come_to(target):
    """Found by rule they are the same as found by schedules of the whole sketch."""
    spaces, maker, _ = spaces_of(target, FAMILIES["Conv2d"])
    for space in spaces:
        assert isinstance(space._placement, Placement)
        [(asked, found)] = probed_locations(space._instructions, maker).items()
        [(sample, seen)] = space._placement.seen.items()
        assert asked == sample and {*found} == {*seen}


@pytest.mark.parametrize("decision", [-2, -1, 0, 1_000])
def test_inlining_is_left_to_tvm_and_all_else_is_placed(target, decision):
    [space, *_], maker, _ = spaces_of(target, FAMILIES["Conv2d"])
    decided = {
        one: decision if one.kind.name == "SampleComputeLocation" else value
        for one, value in space._decided((0,) * len(space.knobs)).items()
    }
    schedule = space._placement.schedule(decided, maker)
    assert (schedule is None) == (decision == -2)


def test_where_the_rules_do_not_hold_tvm_is_asked(target):
    """Planted: a loop that is not there, as if another version nested them otherwise."""
    [known_space, *_], maker, _ = spaces_of(target, FAMILIES["Conv2d"])
    space = copy.copy(known_space)
    known, instructions = space._placement, space._instructions
    [seen] = known.seen.values()
    space._placement = Placement(instructions, known._at, known._loops[1:], seen)
    vector = tuple(space.draw(1, np.random.default_rng(0))[0].tolist())
    ours, theirs = space.program(vector, maker), maker.replay(space.trace(vector), 1)
    assert ours is not None and theirs is not None
    assert not was_placed(ours) and ours.fingerprint == theirs.fingerprint


def test_what_is_recorded_of_a_placed_program_makes_it_again(target):
    """Journals keep the sketch's trace, and a stock database the schedule's."""
    [space, *_], maker, setup = spaces_of(target, FAMILIES["Conv2d"])
    rng = np.random.default_rng(1)
    programs = [space.program(tuple(vector), maker) for vector in space.draw(8, rng).tolist()]
    placed = [one for one in programs if one is not None and was_placed(one)]
    assert placed
    index = SketchIndex(setup.sketches)
    for program in placed:
        candidate = program.candidate({"a": 1})
        assert index.of(candidate.trace) == space.index
        [again] = unpack(pack([candidate]), setup.context.mod)
        assert structural_hash(again.mod) == program.fingerprint
        assert str(again.trace) == str(candidate.trace)
        [stock] = maker.recall([program.schedule.trace])
        assert stock.fingerprint == program.fingerprint
