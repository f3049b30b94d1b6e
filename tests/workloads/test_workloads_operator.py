"""What the base class promises: repeatable inputs, and a check that tells right from wrong."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pytest_ansorbench.workloads import BatchMatmul, MatrixNorm, Softmax


def accepts(check, output):
    """Whether a kernel with this output would pass."""
    return np.allclose(output, check.expected, rtol=check.rtol, atol=check.atol)


def test_inputs_repeat_in_another_process():
    code = (
        "from pytest_ansorbench.workloads import Softmax;"
        "print(Softmax(m=2, n=3).inputs()[0].tobytes().hex())"
    )
    path = os.pathsep.join(filter(None, sys.path))
    child = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": path, "PYTHONHASHSEED": "7"},
    )
    assert child.stdout.strip() == Softmax(m=2, n=3).inputs()[0].tobytes().hex()


def test_inputs_differ_between_shapes():
    left = BatchMatmul(batch=1, m=4, n=4, k=4).inputs()[0]
    right = BatchMatmul(batch=1, m=4, n=5, k=4).inputs()[0]
    assert not np.array_equal(left, right)


def test_check_holds_the_reference(small):
    check = small.check()
    assert check.expected.dtype == np.float32
    assert np.array_equal(check.expected, small.reference(*check.inputs))
    assert 0 < check.rtol < 1e-3
    assert 0 < check.atol < 1e-3 * np.abs(check.expected).max()


@pytest.mark.parametrize("k", [1, 16, 512, 8192])
def test_check_accepts_a_plain_float32_sum(k):
    """The least accurate order there is: one term after the other."""
    check = BatchMatmul(batch=1, m=32, n=32, k=k).check()
    left, right = check.inputs
    total = np.zeros((32, 32), np.float32)
    for i in range(k):
        total += left[0, :, i : i + 1] * right[0, i : i + 1, :]
    assert accepts(check, total[None])


@pytest.mark.parametrize("k", [16, 512, 8192])
def test_check_rejects_a_sum_that_lacks_its_last_term(k):
    check = BatchMatmul(batch=1, m=32, n=32, k=k).check()
    left, right = check.inputs
    assert not accepts(check, left[:, :, :-1] @ right[:, :-1, :])


def test_check_rejects_a_norm_that_lacks_a_row():
    check = MatrixNorm(batch=16, m=256, n=256).check()
    short = np.linalg.norm(check.inputs[0][:, :-1], axis=(1, 2))
    assert not accepts(check, short)


def test_check_rejects_a_softmax_that_is_a_little_off():
    """Its outputs are small: a tolerance made for sums of large terms would let it pass."""
    check = Softmax(m=64, n=2048).check()
    assert accepts(check, check.expected * np.float32(1 + 1e-6))
    assert not accepts(check, check.expected * np.float32(1 + 1e-3))


def test_text_is_the_id(small):
    assert str(small) == small.id


def test_tasks_are_the_operator_itself(small):
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    (task,) = small.tasks()
    assert (task.name, task.flops, task.weight) == (small.id, small.flops, 1)
    shapes = [
        tuple(int(extent) for extent in one.shape)
        for one in ArgInfo.from_entry_func(task.mod, remove_preproc=False)
    ]
    assert shapes == [*small.input_shapes, task.check.expected.shape]
