"""The setup of a proposer, without a search around it."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.strategies import (
    Observation,
    ProgramMaker,
    Setup,
    TargetSpace,
    XGBoostModel,
)
from pytest_ansorbench.strategies.decisions.traced import TracedSpace
from pytest_ansorbench.workloads import OPERATORS, BatchMatmul
from pytest_ansorbench.workloads.operator import Operator

MATMUL = BatchMatmul(batch=1, m=16, n=16, k=16)
OWN = TargetSpace()
FAMILIES = {type(case).__name__: case for case in reversed(OPERATORS)}
"""The first shape of each family of operators."""
_LARGE = ("CapsuleConv2d", "Conv2dBnRelu", "DilatedConv2d", "GroupedConv2d")
every_family = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in _LARGE else []) for name in FAMILIES],
)
"""Their names; those whose programs take longest to be made are marked as slow."""
_KNOWN: dict = {}
"""What `spaces_of` has made: seconds for all families together."""


def make_setup(target, *, case=MATMUL, cost_model=None, seed=0, trials=64, space=OWN) -> Setup:
    """The setup of a task, as a search makes it."""
    from tvm.s_tir.meta_schedule.database import MemoryDatabase

    [task] = unchecked_tasks(case)
    context = context_of(target, task, seed, space)
    return Setup(
        context=context,
        sketches=context.generate_design_space(),
        database=MemoryDatabase(),
        cost_model=(cost_model or XGBoostModel()).start(),
        budget_trials=trials,
        round_trials=trials,
        rng=np.random.default_rng(seed),
    )


def unchecked_tasks(case):
    """A case's tasks without what they must compute, which takes longer than all the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Operator, "check", lambda self: None)
        return case.tasks()


def context_of(target, task, seed=0, space=OWN):
    """The `TuneContext` of a task."""
    from tvm.s_tir.meta_schedule import TuneContext

    return TuneContext(
        task.mod,
        target=target,
        space_generator=space.start(target),
        task_name=task.name,
        rand_state=1 + seed,
    )


def spaces_of(target, case) -> tuple[list[TracedSpace], ProgramMaker, Setup]:
    """The decision space of each sketch of a case, what makes its programs, and its setup.

    Made once for all tests, so they are not to be changed.
    """
    key = (str(target), case)
    if key not in _KNOWN:
        setup = make_setup(target, case=case)
        maker = ProgramMaker(setup.context)
        spaces = [TracedSpace(i, one, maker) for i, one in enumerate(setup.sketches)]
        _KNOWN[key] = spaces, maker, setup
    return _KNOWN[key]


def observed(candidates, sketches, gflops) -> list[Observation]:
    """A round as a proposer learns of it."""
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    return [
        Observation(candidate, RunnerResult([1e-3], None), sketch, value)
        for candidate, sketch, value in zip(candidates, sketches, gflops, strict=True)
    ]
