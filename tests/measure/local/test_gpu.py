"""Kernels on a real GPU, faulty ones among them. Skipped where there is none."""

from __future__ import annotations

import pytest

from pytest_ansorbench.cuda import CudaError, check_compiler, device
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.engine import local_engine
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.settings import EngineSettings
from tests.faults import Doubling, program_of

QUICK = FixedMeasurement(number=3, repeat=3, min_repeat_ms=1)


@pytest.fixture(scope="module")
def engine():
    try:
        device()
        check_compiler(resolve_target("cuda"))
    except CudaError as error:
        pytest.skip(str(error))
    settings = EngineSettings(build_timeout_s=60, run_timeout_s=5)
    with local_engine("cuda", settings) as warm:
        yield warm


def _kernels():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def fine(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.thread_binding(64, "threadIdx.x"):
            b[i] = a[i] * T.float32(2)

    @T.prim_func(s_tir=True)
    def wrong(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.thread_binding(64, "threadIdx.x"):
            b[i] = a[i] * T.float32(3)

    @T.prim_func(s_tir=True)
    def overrun(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.thread_binding(72, "threadIdx.x"):
            b[i] = a[i % 64] * T.float32(2)

    @T.prim_func(s_tir=True)
    def illegal(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.thread_binding(64, "threadIdx.x"):
            b[i * 30000000 + 100000000] = a[i]

    @T.prim_func(s_tir=True)
    def hang(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.thread_binding(64, "threadIdx.x"):
            for j in T.serial(2000000000):
                for k in T.serial(1000):
                    b[i] = b[i] * T.float32(1.0000001) + a[(j + k) % 64]

    @T.prim_func(s_tir=True)
    def crowded(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.thread_binding(2048, "threadIdx.x"):
            b[i % 64] = a[i % 64] * T.float32(2)

    return {
        "fine": fine,
        "wrong": wrong,
        "overrun": overrun,
        "illegal": illegal,
        "hang": hang,
        "crowded": crowded,
    }


@pytest.mark.parametrize(
    ("kind", "statuses", "reason"),
    [
        ("wrong", {"wrong-result"}, "expected"),
        ("overrun", {"wrong-result"}, "outside of its output"),
        ("illegal", {"run-error"}, "cudaErrorIllegalAddress"),
        ("hang", {"run-timeout"}, "no result after 5 s"),
        ("crowded", {"run-error", "build-error"}, ""),
    ],
)
def test_a_faulty_kernel_fails_alone(engine, kind, statuses, reason):
    check = Doubling().tasks()[0].check
    kernels = _kernels()
    built = engine.build([program_of(kernels[one]) for one in ("fine", kind, "fine")], check)
    before, faulty, after = (engine.run(one, QUICK) for one in built)
    assert (before.status, after.status) == ("ok", "ok"), (before.error, after.error)
    assert faulty.status in statuses, (faulty.status, faulty.error)
    assert reason in faulty.error
