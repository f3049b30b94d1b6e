"""What a user wants tuned, as a case: a file, an id, a function, a program, a PyTorch module."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_ansorbench.workloads.case import Case, is_case
from pytest_ansorbench.workloads.catalogue import get
from pytest_ansorbench.workloads.inputs import GivenInputs
from pytest_ansorbench.workloads.networks.failures import ImportFailed
from pytest_ansorbench.workloads.networks.imported import (
    ImportedNetwork,
    from_exported_program,
    from_module,
    from_onnx,
    from_relax,
    from_tflite,
)
from pytest_ansorbench.workloads.networks.rewrites import Rewrite
from pytest_ansorbench.workloads.networks.shapes import Shapes
from pytest_ansorbench.workloads.own import from_tir


class FixedCase(ValueError):
    """Shapes, or inputs, of something that has its own."""


def case_of(
    given: Any,
    *,
    name: str | None = None,
    shapes: Shapes | None = None,
    inputs: GivenInputs | None = None,
    example_inputs: Sequence[Any] = (),
    rewrite: Rewrite | None = None,
) -> Case:
    """The case that something stands for.

    Args:
        given: A model's file, `.onnx`, `.pt2` or `.tflite`; the id of a shipped case;
            `module:function`, a function that returns one of the following; a case; an `IRModule`
            whose `main` is a Relax function or a `PrimFunc`; a Relax function; a `PrimFunc`; a
            `torch.nn.Module`.
        name: Its id, where it has none; that of a file is the file's name by default.
        shapes: Of a model's inputs, see `from_onnx`.
        inputs: What a model is called with, see `from_onnx`.
        example_inputs: Of a PyTorch module, see `from_module`.
        rewrite: Of a model that has none of its own, see `from_onnx`; others stay as they are.

    Raises:
        UnknownCase: No case has this id.
        ImportFailed: It is nothing that can be tuned.
        FixedCase: Shapes are given of what is no model, or inputs of what is a case.
    """
    case = _case_of(given, name, shapes, inputs, example_inputs)
    if rewrite is not None and isinstance(case, ImportedNetwork) and case.rewrite is None:
        return replace(case, rewrite=rewrite)
    return case


def _case_of(
    given: Any,
    name: str | None,
    shapes: Shapes | None,
    inputs: GivenInputs | None,
    example_inputs: Sequence[Any],
) -> Case:
    if isinstance(given, str | Path):
        text = str(given)
        if text.endswith(".onnx"):
            return from_onnx(text, name=name, shapes=shapes, inputs=inputs)
        if text.endswith(".pt2"):
            return from_exported_program(text, name=name, shapes=shapes, inputs=inputs)
        if text.endswith(".tflite"):
            _require_none(f"{text!r} is a TFLite file", shapes=shapes)
            return from_tflite(text, name=name, inputs=inputs)
        if Path(text).is_file():
            raise ImportFailed(
                f"bad model file {text!r}: expected one that ends in .onnx, .pt2 or .tflite"
            )
        if ":" in text:
            made = _made(text)
            called = name or text.rpartition(":")[2]
            return _case_of(made, called, shapes, inputs, example_inputs)
        _require_none(f"{text!r} is no model's file", shapes=shapes, inputs=inputs)
        return get(text)
    if is_case(given):
        _require_none(f"{given.id!r} is a case", shapes=shapes, inputs=inputs)
        return given
    if _is_module(given):
        return from_module(
            given, name=name, example_inputs=example_inputs, shapes=shapes, inputs=inputs
        )
    return _of_program(given, name or "model", shapes, inputs)


def _of_program(given: Any, name: str, shapes: Shapes | None, inputs: GivenInputs | None) -> Case:
    """The case of a program of TVM's."""
    from tvm import IRModule
    from tvm.relax import Function
    from tvm.tirx import PrimFunc

    if isinstance(given, Function):
        given = IRModule({"main": given})
    if isinstance(given, IRModule):
        names = [variable.name_hint for variable in given.get_global_vars()]
        if "main" in names and isinstance(given["main"], Function):
            return from_relax(name, lambda: given, shapes=shapes, inputs=inputs)
    elif not isinstance(given, PrimFunc):
        raise ImportFailed(
            f"bad model {given!r}: expected a file, the id of a case, an IRModule, a PrimFunc, a "
            "Relax function or a torch.nn.Module"
        )
    _require_none(f"{name!r} is an operator", shapes=shapes)
    return from_tir(name, given, inputs=inputs)


def _require_none(subject: str, **given: object) -> None:
    for name, value in given.items():
        if value:
            raise FixedCase(f"{subject}, so its {name} are fixed")


def _is_module(given: object) -> bool:
    """Whether it is a module of PyTorch's, which is loaded then."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.nn.Module)


def _made(text: str) -> Any:
    """What a function makes that is given as `module:function`."""
    module, _, name = text.rpartition(":")
    expected = "expected module:function, e.g. models:resnet, of a module that Python can import"
    try:
        found = importlib.import_module(module)
    except Exception as error:  # whatever a module raises
        raise ImportFailed(
            f"bad model {text!r}: {type(error).__name__}: {error}; {expected}"
        ) from error
    if not hasattr(found, name):
        raise ImportFailed(f"bad model {text!r}: {module} has no {name!r}; {expected}")
    made = getattr(found, name)
    return made() if inspect.isroutine(made) or inspect.isclass(made) else made
