"""Models as Relax modules: files of ONNX, PyTorch and TFLite, modules, functions of users."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.networks.archive import UnsafeArchive, load_exported_program
from pytest_ansorbench.workloads.networks.failures import ImportFailed, cause_of, told
from pytest_ansorbench.workloads.networks.reading import (
    content_of,
    converted,
    extra,
    of_exported,
    subject_of,
)
from pytest_ansorbench.workloads.networks.relax_checks import inputs_of
from pytest_ansorbench.workloads.networks.shapes import Dimension, Extent, OpenShape, Shapes, fix

if TYPE_CHECKING:
    from types import ModuleType

    from torch.export import ExportedProgram
    from tvm import IRModule

_TFLITE: Final = b"TFL3"
"""Of a file, from its fifth byte on."""
_ONE_INPUT: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class RelaxFunction:
    """Calls a function that makes a Relax module."""

    name: str
    function: Callable[[], IRModule]
    shapes: Shapes

    def __call__(self) -> IRModule:
        from tvm import IRModule
        from tvm.relax import Function, transform

        module = self.function()
        subject = f"bad network {self.name!r}"
        if not isinstance(module, IRModule):
            raise ImportFailed(
                f"{subject}: its function returned a {type(module).__name__}; expected a Relax "
                "module, e.g. relax.BlockBuilder.get()"
            )
        names = {variable.name_hint: variable for variable in module.get_global_vars()}
        main = module[names["main"]] if "main" in names else None
        if not isinstance(main, Function):
            raise ImportFailed(
                f"{subject}: its module has no Relax function main (functions: "
                f"{', '.join(names) or 'none'}); call the one that takes the inputs main"
            )
        with told(subject):
            symbols = fix(subject, inputs_of(main, subject), self.shapes).symbols
            return transform.BindSymbolicVars(symbols, "main")(module) if symbols else module


@dataclass(frozen=True)
class OnnxFile:
    """Reads an ONNX file."""

    path: Path
    shapes: Shapes

    def __call__(self) -> IRModule:
        """A Relax module; ImportFailed if there is none in it."""
        onnx = extra("onnx")
        from tvm.relax.frontend.onnx import from_onnx as convert

        subject = subject_of(self.path)
        try:
            model = onnx.load(str(self.path))
        except Exception as error:  # protobuf's own kinds among them
            raise ImportFailed(f"{subject}: no ONNX model: {cause_of(error)}") from error
        fixed = fix(subject, _onnx_inputs(model.graph, subject), self.shapes, may_change=True)
        given = {name: list(shape) for name, shape in fixed.shapes.items()}
        changed = "".join(f"{one}: " for one in fixed.changed)
        return converted(f"{subject}: {changed}".removesuffix(": "), lambda: convert(model, given))


def _onnx_inputs(graph: Any, subject: str) -> dict[str, Sequence[Extent] | None]:
    """The shapes of an ONNX graph's inputs; weights may be listed among them."""
    weights = {tensor.name for tensor in graph.initializer}
    shapes: dict[str, Sequence[Extent] | None] = {}
    for value in graph.input:
        if value.name in weights:
            continue
        if not value.type.HasField("tensor_type"):
            raise ImportFailed(
                f"{subject}: its input {value.name!r} is no tensor; export it with tensors only"
            )
        type_ = value.type.tensor_type
        extents = [
            # Some exporters have 0 or -1 for what is open.
            Dimension.named(one.dim_param) if one.dim_param else max(0, one.dim_value) or None
            for one in type_.shape.dim
        ]
        shapes[value.name] = extents if type_.HasField("shape") else None
    return shapes


@dataclass(frozen=True)
class ExportedFile:
    """Reads what `torch.export.save` wrote."""

    path: Path
    shapes: Shapes

    def __call__(self) -> IRModule:
        """A Relax module; ImportFailed if there is none in it."""
        program, subject = self.program(), subject_of(self.path)
        return converted(subject, lambda: of_exported(program, subject))

    def program(self) -> ExportedProgram:
        """The program, with its shapes fixed.

        Raises:
            ImportFailed: The file holds none, or more than data.
        """
        extra("torch")
        subject = subject_of(self.path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of PyTorch to itself
                return load_exported_program(
                    self.path.read_bytes(), lambda inputs: fix(subject, inputs, self.shapes)
                )
        except ImportFailed:
            raise
        except UnsafeArchive as error:
            raise ImportFailed(f"{subject}: {error}") from error
        except Exception as error:  # whatever a file that is none provokes
            raise ImportFailed(f"{subject}: no ExportedProgram: {cause_of(error)}") from error


@dataclass(frozen=True)
class TfliteFile:
    """Reads a TFLite file."""

    path: Path

    def __call__(self) -> IRModule:
        tflite = extra("tflite")
        subject = subject_of(self.path)
        content = content_of(self.path)
        if content[4:8] != _TFLITE:
            raise ImportFailed(
                f"{subject}: no TFLite model: {_TFLITE!r} is not where such a file has it"
            )

        def imported() -> IRModule:
            from tvm.relax.frontend.tflite import from_tflite as convert

            module = convert(tflite.Model.GetRootAsModel(content, 0))
            # All constants once more.
            module["main"] = module["main"].without_attr("params")
            return module

        return converted(subject, imported)


@dataclass(frozen=True, eq=False)
class TorchModule:
    """Exports a module of PyTorch."""

    name: str
    module: Any
    example_inputs: Sequence[Any]
    shapes: Shapes

    def __call__(self) -> IRModule:
        exported = self.exported()
        return converted(self._subject, lambda: of_exported(exported, self._subject))

    @property
    def _subject(self) -> str:
        return f"bad network {self.name!r}"

    def exported(self) -> ExportedProgram:
        """The module as PyTorch exports it: ImportFailed if it does not."""
        torch = extra("torch")
        # As it is used, not as it is trained; what was in which mode is so afterwards.
        modes = [(part, part.training) for part in self.module.modules()]
        self.module.eval()
        try:
            with warnings.catch_warnings(), told(self._subject), torch.no_grad():
                warnings.simplefilter("ignore")  # of PyTorch to itself
                program: ExportedProgram = torch.export.export(
                    self.module, self.example_inputs, self._zeros(torch, self._subject)
                )
                return program
        finally:
            for part, training in modes:
                part.training = training

    def _zeros(self, torch: ModuleType, subject: str) -> Mapping[str, Any]:
        """Without examples, zeros of the shapes that are given, by the names of inputs."""
        if self.example_inputs:
            return {}
        inputs = inspect.signature(self.module.forward).parameters
        for name in self.shapes:
            if name not in inputs:
                raise ImportFailed(
                    f"{subject}: bad name {name!r} in shapes: expected an input, "
                    f"{', '.join(inputs) or 'of which it has none'}"
                )
        for name, one in inputs.items():
            needed = one.default is one.empty and one.kind in _ONE_INPUT
            if needed and name not in self.shapes:
                problem = f"the shape of its input {name!r} is open"
                raise OpenShape(f"{subject}: {problem}", [{name: (1, 3, 224, 224)}])
        return {name: torch.zeros(self.shapes[name]) for name in inputs if name in self.shapes}
