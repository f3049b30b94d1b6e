"""The builder whose processes outlast a batch, on real programs."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

import numpy as np
import psutil
import pytest

from pytest_ansorbench.lasting_builder import lasting_builder
from tests.faults import module
from tests.plugin.project import WITHOUT_TORCH
from tests.strategies.setups import MATMUL


@pytest.fixture(autouse=True)
def _without_torch(monkeypatch):
    """TVM imports PyTorch where it is installed, for seconds."""
    monkeypatch.setenv("PYTHONPATH", str(WITHOUT_TORCH))


def children():
    """Processes of this one."""
    return set(psutil.Process().children(recursive=True))


def remove(artifact):
    """As TVM does after it has run a program."""
    shutil.rmtree(Path(artifact).parent)


@pytest.fixture
def without_garbage_collection():
    """Objects end with their last reference, and those in reference cycles stay."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_garbage_collection")
def test_programs_are_compiled_by_processes_that_stay_and_end_with_the_builder(target):
    import tvm
    from tvm.s_tir.meta_schedule.builder import BuilderInput

    mod = MATMUL.tasks()[0].mod
    before = children()
    builder = lasting_builder(workers=1, timeout_s=120.0)
    [first] = builder.build([BuilderInput(mod, target)])
    stayed = children() - before
    assert len(stayed) == 1
    programs = [BuilderInput(one, target) for one in (mod, module("unbuildable"))]
    second, failed = builder.build(programs)
    assert children() - before == stayed
    assert (first.error_msg, second.error_msg) == (None, None)
    assert failed.artifact_path is None
    assert "not implemented" in failed.error_msg
    a, b, c = (np.random.default_rng(0).random((1, 16, 16), dtype=np.float32) for _ in range(3))
    arrays = [tvm.runtime.tensor(one) for one in (a, b, c)]
    tvm.runtime.load_module(first.artifact_path)(*arrays)
    np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-4)
    remove(first.artifact_path)
    remove(second.artifact_path)
    del builder
    _, alive = psutil.wait_procs(stayed, timeout=30.0)
    assert not alive


def test_a_program_that_takes_too_long_is_given_up(target):
    from tvm.s_tir.meta_schedule.builder import BuilderInput

    builder = lasting_builder(workers=1, timeout_s=0.1)  # to import TVM takes longer
    [late] = builder.build([BuilderInput(MATMUL.tasks()[0].mod, target)])
    assert late.artifact_path is None
    assert late.error_msg == "compiled for more than 0.1 s"


@pytest.mark.parametrize(
    "name, value", [("workers", 0), ("programs", 0), ("timeout_s", 0.0), ("timeout_s", -1.0)]
)
def test_a_bad_number_is_named(name, value):
    with pytest.raises(ValueError, match=f"bad {name} {value}: expected"):
        lasting_builder(**{name: value})
