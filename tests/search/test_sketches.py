"""Programs are traced back to their sketch through sampling, postprocessing and mutation."""

from __future__ import annotations

import pytest

from pytest_ansorbench.search.describe import describe_tasks
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads import BatchMatmul, Conv2d, Softmax
from tests.faults import Doubling

CASES = [
    BatchMatmul(batch=1, m=32, n=32, k=32),
    Conv2d(
        batch=1,
        height=8,
        width=8,
        in_channels=16,
        out_channels=16,
        kernel=3,
        stride=1,
        padding=1,
    ),
    Softmax(m=32, n=32),
]


@pytest.fixture(params=CASES, ids=lambda case: case.id)
def context(request, target):
    from tvm.s_tir.meta_schedule import TuneContext

    return TuneContext(
        request.param.tasks()[0].mod,
        target=target,
        space_generator="post-order-apply",
        search_strategy="replay-trace",
        task_name="sketches",
        rand_state=1,
    )


def test_sketches_are_told_apart_and_programs_find_home(context):
    from tvm.s_tir import Schedule
    from tvm.s_tir.meta_schedule.search_strategy import ReplayTrace

    sketches = context.generate_design_space()
    index = SketchIndex(sketches)
    assert len(set(index.fingerprints)) == len(sketches) >= 3
    for number, sketch in enumerate(sketches):
        sampler = ReplayTrace()
        sampler._initialize_with_tune_context(context)
        sampler.pre_tuning(4, 4, [sketch])
        programs = [candidate.sch for candidate in sampler.generate_measure_candidates()]
        assert programs
        assert {index.of(program.trace) for program in programs} == {number}
        mutated = 0
        for mutator in context.space_generator.mutator_probs:
            for program in programs:
                trace = mutator.apply(program.trace)
                if trace is None:
                    continue
                child = Schedule(context.mod, seed=1)
                trace.apply_to_schedule(child, remove_postproc=True)
                mutated += 1
                assert index.of(child.trace) == number, mutator
        assert mutated


def test_only_a_space_with_a_decision_in_it_leaves_something_to_choose(engine):
    tasks = [*BatchMatmul(batch=1, m=16, n=16, k=16).tasks(), *Doubling().tasks()]
    matmul, doubling = describe_tasks(tasks, engine.target, Registry().get("default"))
    assert matmul.tunable and matmul.sketches == 3
    assert matmul.shapes == ((1, 16, 16), (1, 16, 16), (1, 16, 16))
    assert not doubling.tunable
