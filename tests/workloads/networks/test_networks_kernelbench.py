"""Problems of KernelBench: sizes of one's own, inputs of the file's, and files that are none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.untuned import network_check
from pytest_ansorbench.workloads import BadInputs, ImportFailed, from_kernelbench
from pytest_ansorbench.workloads.networks.main_inputs import main_inputs
from tests.inference import infer

torch = pytest.importorskip("torch")

PROBLEM = """
from __future__ import annotations
from dataclasses import dataclass
import torch
import torch.nn as nn

@dataclass
class Settings:
    rate: float = 0.5

class Model(nn.Module):
    def __init__(self, bias_shape, factor):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.factor = factor
        self.dropout = nn.Dropout(Settings().rate)

    def forward(self, A, B):
        return self.dropout(torch.relu(torch.matmul(A, B) + self.bias)) * self.factor

batch_size = rows = 4096
features: int = 8192
bias_shape, factor = (features,), 1.0

def get_inputs():
    return [torch.rand(rows, features), torch.rand(features, features)]

def get_init_inputs():
    return [bias_shape, factor]
"""


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "1_Product.py"
    path.write_text(PROBLEM)
    return path


def test_a_problem_becomes_a_case(problem):
    case = from_kernelbench(problem, features=8, rows=4, factor=0.5)
    assert case.id == str(case) == "1_Product-factor0.5-features8-rows4"
    assert isinstance(case, workloads.NetworkCase)
    a, b, *weights = case.arguments()
    # The shape of the bias is made of another size, and dropout drops nothing.
    [bias] = [weight for weight in weights if weight.shape == (8,)]
    assert (a.shape, b.shape) == ((4, 8), (8, 8))
    output = infer(case.program(), (a, b, *weights))
    np.testing.assert_allclose(output, np.maximum(a @ b + bias, 0) / 2, rtol=1e-4, atol=1e-5)
    assert any("matmul" in task.name for task in case.tasks())


def test_inputs_are_those_that_the_file_draws(problem):
    case = from_kernelbench(problem, features=8, rows=4)
    before = torch.get_rng_state()
    [way] = case.draws(main_inputs(case.program(), len(case.weights())))
    first, again, other = (way(seed) for seed in (1, 1, 2))
    assert str(way) == "get_inputs of 1_Product.py"
    assert torch.equal(before, torch.get_rng_state())
    assert all(array.min() >= 0 for array in first)
    for array, same, another in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(array, same)
        assert not np.array_equal(array, another)


def test_weights_are_the_same_each_time(problem):
    first, again = (from_kernelbench(problem, features=8, rows=4) for _ in range(2))
    for array, same in zip(first.weights(), again.weights(), strict=True):
        np.testing.assert_array_equal(array, same)


def test_a_file_is_imported_without_a_trace(problem, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    paths, names = [*sys.path], set(sys.modules)
    case = from_kernelbench(problem, features=8, rows=4)
    assert set(sys.modules) == names
    case.tasks()
    assert sys.path == paths
    assert [path.name for path in tmp_path.iterdir()] == ["1_Product.py"]


def test_files_of_one_name_are_two(problem, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / problem.name).write_text(PROBLEM.replace("relu", "tanh"))
    sizes = {"features": 8, "rows": 4}
    cases = [from_kernelbench(path, **sizes) for path in (problem, folder / problem.name)]
    relu, tanh = (infer(case.program(), case.arguments()) for case in cases)
    assert relu.max() > 1 >= tanh.max()


def test_nothing_is_read_before_it_is_needed(tmp_path):
    case = from_kernelbench(tmp_path / "absent.py", N=4)
    assert case.id == "absent-N4"
    with pytest.raises(ImportFailed, match=r"bad model file '.*absent\.py': there is no such file"):
        case.tasks()


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        (
            PROBLEM,
            {"N": 4},
            "no size 'N'; expected one of batch_size, bias_shape, factor, ",
        ),
        ("", {"N": 4}, "it has no size 'N'; expected one of none$"),
        ("x = [", {}, "no Python: "),
        ("a\0b", {}, "no Python: "),
        ("class Model: pass", {}, "there is no get_init_inputs in it; expected Model, get_init_in"),
        (
            PROBLEM.replace("torch.rand(features, features)]", "3.5]"),
            {"features": 8, "rows": 4},
            "its get_inputs returns a float; expected tensors only, so make it a constant",
        ),
    ],
)
def test_what_is_no_problem_is_refused_in_a_sentence(tmp_path, text, sizes, message):
    path = tmp_path / "odd.py"
    path.write_text(text)
    with pytest.raises(ImportFailed, match=message) as caught:
        from_kernelbench(path, **sizes).tasks()
    assert str(caught.value).startswith(f"bad model file {str(path)!r}: ")


def test_outputs_that_say_nothing_are_refused_with_a_cure_that_there_is(problem, fast_engine):
    case = from_kernelbench(problem, features=8, rows=4, factor=0.0)
    cure = "no numbers; change its get_inputs, or leave the problem out$"
    with pytest.raises(BadInputs, match=cure):
        network_check(fast_engine, case, case.program(), case.tasks())


def test_an_error_of_the_file_stays_its_own(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text("raise FileNotFoundError('weights')")
    names = set(sys.modules)
    with pytest.raises(FileNotFoundError, match="weights"):
        from_kernelbench(path).tasks()
    assert set(sys.modules) == names
