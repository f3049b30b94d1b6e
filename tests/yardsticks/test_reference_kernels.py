"""Libraries' kernels are timed in a process of their own, which may fail."""

from __future__ import annotations

import os
import statistics

import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.yardsticks import library_kernel, reference_kernels
from pytest_ansorbench.yardsticks.library_main import _checked, answer
from pytest_ansorbench.yardsticks.reference_kernels import LibraryKernel, NoKernel
from tests.faults import Doubling

MATMUL = workloads.BatchMatmul(batch=3, m=70, n=64, k=128)  # of a shape that is not listed


def test_a_kernel_is_timed_over_and_over() -> None:
    cores = sorted(os.sched_getaffinity(0))[:1]
    kernel = library_kernel("numpy", MATMUL, 1, cores)
    assert (kernel.implementation, kernel.error) == ("numpy", "")
    assert kernel.version
    assert 3 <= len(kernel.latencies_s) <= 30
    assert all(1e-6 < latency_s < 1.0 for latency_s in kernel.latencies_s)
    assert kernel.latency_s == statistics.median(kernel.latencies_s)


def test_an_operator_that_the_library_lacks_is_told() -> None:
    kernel = library_kernel("numpy", workloads.CAPSULE_CONV2D[0], 1)
    assert (kernel.latencies_s, kernel.latency_s) == ((), None)
    assert kernel.error == "numpy has no kernel of CapsuleConv2d"


@pytest.mark.parametrize("case", [Doubling(), workloads.Mlp()], ids=["operator", "network"])
def test_what_is_no_shipped_operator_is_told(case: workloads.Case) -> None:
    kernel = library_kernel("numpy", case, 1)
    assert kernel.error == f"{case.id} is no operator that ships with the package"


def test_a_library_that_is_not_there_is_told() -> None:
    asked = {"library": "nonesuch", "threads": 1, "cores": None}
    assert answer(asked) == {"version": "", "latencies_s": [], "error": "nonesuch is not installed"}


def test_a_wrong_output_is_no_kernel() -> None:
    operator = MATMUL
    right = operator.check().expected
    assert _checked(operator, LibraryKernel(lambda: right, lambda output: output))
    with pytest.raises(NoKernel, match="its output is not that of the operator"):
        _checked(operator, LibraryKernel(lambda: right + 1.0, lambda output: output))


def test_a_process_that_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_kernels, "_MAIN", "no_such_module")
    assert "No module named no_such_module" in library_kernel("numpy", MATMUL, 1).error


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_kernels, "_TIMEOUT_S", 0.05)
    assert library_kernel("numpy", MATMUL, 1).error == "not done after 0.05 s"
