"""What a user wants tuned, as a case."""

from __future__ import annotations

import sys

import pytest

from pytest_ansorbench.workloads import (
    BatchMatmul,
    ImportedNetwork,
    ImportFailed,
    UnknownCase,
    from_onnx,
    packed,
    winograd,
)
from pytest_ansorbench.workloads.given import FixedCase, case_of

PRODUCT = BatchMatmul(batch=1, m=16, n=16, k=16)
MODULE = """
from tests.workloads.test_workloads_given import PRODUCT

def layer():
    import torch

    return torch.nn.Linear(4, 3)

shipped = "matmul-b1-m512-n512-k512"

def function():
    return PRODUCT

def broken():
    raise OSError("as its author meant")

class Made:
    id, flops = "made", 1

    def tasks(self):
        return ()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "given_models.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "given_models"
    sys.modules.pop("given_models", None)


def test_a_case_is_itself_and_an_id_is_a_shipped_one():
    assert case_of(PRODUCT) is PRODUCT
    assert case_of("matmul-b1-m512-n512-k512").id == "matmul-b1-m512-n512-k512"
    with pytest.raises(UnknownCase):
        case_of("matmul")


def test_a_name_in_a_module_is_called_if_it_can_be(module):
    assert case_of(f"{module}:function") == PRODUCT
    assert case_of(f"{module}:shipped").id == "matmul-b1-m512-n512-k512"
    assert case_of(f"{module}:Made").id == "made"
    with pytest.raises(OSError, match="as its author meant"):
        case_of(f"{module}:broken")
    with pytest.raises(ImportFailed, match="given_models has no 'other'; expected module:"):
        case_of(f"{module}:other")
    with pytest.raises(ImportFailed, match="bad model 'no_such_module:f': ModuleNotFoundError"):
        case_of("no_such_module:f")


def test_examples_are_handed_to_what_a_function_returns(module):
    torch = pytest.importorskip("torch")
    layer = case_of(f"{module}:layer", example_inputs=(torch.zeros(2, 4),))
    assert layer.id == "layer" and layer.arguments()[0].shape == (2, 4)


def test_a_model_is_rewritten_unless_it_has_a_rewrite_of_its_own(tmp_path):
    model = case_of(tmp_path / "mine.onnx", rewrite=winograd)
    assert model.rewrite is winograd and case_of(model, rewrite=packed).rewrite is winograd
    assert case_of(PRODUCT, rewrite=winograd) is PRODUCT


def test_a_rewrite_is_no_name(tmp_path):
    message = "bad network 'mine': bad rewrite 'winograd': expected a function, e.g. workloads.win"
    with pytest.raises(ImportFailed, match=message):
        from_onnx(tmp_path / "mine.onnx", rewrite="winograd")


def test_files_are_models_by_their_endings(tmp_path):
    assert isinstance(case_of(tmp_path / "mine.onnx"), ImportedNetwork)
    assert case_of(str(tmp_path / "mine.pt2"), name="other").id == "other"
    (tmp_path / "mine.pth").touch()
    with pytest.raises(ImportFailed, match=r"expected one that ends in \.onnx, \.pt2"):
        case_of(tmp_path / "mine.pth")


@pytest.mark.parametrize("given", [PRODUCT, "matmul-b1-m512-n512-k512"], ids=repr)
@pytest.mark.parametrize("fixed", ["shapes", "inputs"])
def test_a_case_has_shapes_and_inputs_of_its_own(given, fixed):
    with pytest.raises(FixedCase, match=rf"is .*, so its {fixed} are fixed$"):
        case_of(given, **{fixed: {"x": (0, 1)}})


def test_programs_of_tvm_are_operators_or_networks():
    from tvm import IRModule

    from pytest_ansorbench.workloads import Mlp
    from pytest_ansorbench.workloads.networks.to_relax import to_relax

    mod = PRODUCT.tasks()[0].mod
    for given in (mod, mod["main"]):
        [task] = case_of(given, name="mine").tasks()
        assert task.name == "mine" and task.flops > 1
    relax = to_relax(Mlp(features=16, hidden=(8, 8), classes=4).graph())
    assert len(case_of(relax).tasks()) == 4
    assert len(case_of(relax["main"]).tasks()) == 4
    with pytest.raises(ImportFailed, match="bad model"):
        case_of(object())
    with pytest.raises(FixedCase, match="'model' is an operator"):
        case_of(IRModule({"main": mod["main"]}), shapes={"x": 1})
