"""Networks of users: from an ONNX file, from a PyTorch `ExportedProgram`, from Relax itself."""

from __future__ import annotations

import importlib
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads.case import Task
from pytest_ansorbench.workloads.networks.archive import UnsafeArchive, load_exported_program
from pytest_ansorbench.workloads.networks.relax_names import (
    replace_constants,
    type_of,
    with_parameters,
)

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.relax import Expr


class ImportFailed(ValueError):
    """A model that cannot be imported; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Imported:
    """What became of a model.

    Attributes:
        program: A fused Relax module, whose weights are arguments like its inputs.
        arguments: Random inputs, then the weights.
        tasks: Its tasks.
    """

    program: IRModule
    arguments: tuple[NDArray[Any], ...]
    tasks: tuple[Task, ...]


@dataclass(frozen=True, eq=False)
class ImportedNetwork:
    """A user's model as a `NetworkCase`. It is imported when it is first asked for anything.

    Attributes:
        id: How it is called in tables.
        read: Reads the model as a Relax module with a function `main`.
    """

    id: str
    read: Callable[[], IRModule]

    def __str__(self) -> str:
        return self.id

    @property
    def flops(self) -> int:
        """Floating-point operations of one inference, as TVM counts them. Imports TVM."""
        return sum(task.weight * task.flops for task in self._imported.tasks)

    def program(self) -> IRModule:
        """See `NetworkCase.program`.

        Raises:
            ImportFailed: The model cannot be imported.
        """
        return self._imported.program

    def arguments(self) -> tuple[NDArray[Any], ...]:
        """Random inputs in [-1, 1), whole numbers all zero, and the model's own weights."""
        return self._imported.arguments

    def tasks(self) -> tuple[Task, ...]:
        """See `NetworkCase.tasks`."""
        return self._imported.tasks

    @cached_property
    def _imported(self) -> Imported:
        from pytest_ansorbench.workloads.networks.extract import extract_tasks
        from pytest_ansorbench.workloads.networks.to_relax import fuse

        program, weights = _with_weights_as_arguments(fuse(_for_inference(self.read())))
        described = [type_of(parameter) for parameter in program["main"].params]
        inputs = described[: len(described) - len(weights)]
        return Imported(
            program,
            (*_random_inputs(self.id, inputs), *weights),
            extract_tasks(program),
        )


def from_onnx(
    path: str | Path,
    *,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> ImportedNetwork:
    """A network from an ONNX file. Needs the package `onnx`.

    Args:
        path: The file.
        name: Its id; the file's name without ending by default.
        shapes: Shape of each input that the file leaves open, by the input's name.

    Returns:
        The case. The file is read when the case is run.
    """
    file = _OnnxFile(Path(path), {name: tuple(shape) for name, shape in (shapes or {}).items()})
    return ImportedNetwork(name or file.path.stem, file)


def from_exported_program(path: str | Path, *, name: str | None = None) -> ImportedNetwork:
    """A network from a file that `torch.export.save` wrote. Needs the package `torch`.

    Args:
        path: The file. PyTorch would unpickle parts of it, and run what it finds there; a file
            that holds more than JSON and tensors is refused.
        name: Its id; the file's name without ending by default.

    Returns:
        The case. The file is read when the case is run.
    """
    file = _ExportedFile(Path(path))
    return ImportedNetwork(name or file.path.stem, file)


def from_relax(name: str, function: Callable[[], IRModule]) -> ImportedNetwork:
    """A network from a Python function that returns a Relax module.

    Args:
        name: Its id.
        function: Returns a module whose function `main` takes the inputs; constants in it are
            the weights.

    Returns:
        The case. The function is called when the case is run.
    """
    return ImportedNetwork(name, function)


@dataclass(frozen=True)
class _OnnxFile:
    path: Path
    shapes: Mapping[str, Sequence[int]]

    def __call__(self) -> IRModule:
        onnx = _extra("onnx", "onnx")
        from tvm.relax.frontend.onnx import from_onnx as convert

        name = str(self.path)
        _require_existing(self.path)
        try:
            model = onnx.load(name)
        except Exception as error:  # protobuf's own kinds among them
            raise ImportFailed(f"bad model file {name!r}: no ONNX model: {error}") from None
        given = {name: list(shape) for name, shape in self.shapes.items()}
        return _converted(self.path, lambda: convert(model, shape_dict=given))


@dataclass(frozen=True)
class _ExportedFile:
    path: Path

    def __call__(self) -> IRModule:
        _extra("torch", "torch")
        from tvm.relax.frontend.torch import from_exported_program as convert

        name = str(self.path)
        _require_existing(self.path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of PyTorch to itself
                exported = load_exported_program(self.path.read_bytes())
        except UnsafeArchive as error:
            raise ImportFailed(f"bad model file {name!r}: {error}") from None
        except Exception as error:  # whatever a file that is none provokes
            raise ImportFailed(f"bad model file {name!r}: no ExportedProgram: {error}") from None
        return _converted(self.path, lambda: convert(exported, unwrap_unit_return_tuple=True))


def _require_existing(file: Path) -> None:
    if not file.is_file():
        raise ImportFailed(f"bad model file {str(file)!r}: there is no such file")


def _extra(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportFailed(
            f"{module} is not installed: pip install 'pytest-ansorbench[{extra}]'"
        ) from None


def _converted(file: Path, convert: Callable[[], IRModule]) -> IRModule:
    """What TVM's importer makes of a model, or one sentence on why it makes nothing of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of importers to themselves
            return convert()
    except Exception as error:  # importers raise whatever comes their way
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[-1] if lines else type(error).__name__
        raise ImportFailed(f"bad model file {str(file)!r}: {reason[:300]}") from None


def _for_inference(module: IRModule) -> IRModule:
    import tvm
    from tvm.relax import transform

    passes = [transform.DecomposeOpsForInference(), transform.CanonicalizeBindings()]
    return tvm.transform.Sequential(passes)(module)


def _with_weights_as_arguments(program: IRModule) -> tuple[IRModule, list[NDArray[Any]]]:
    """Make an argument of each constant, so that a program stays small, as text and in memory."""
    from tvm import IRModule, relax

    weights: list[NDArray[Any]] = []
    variables: list[Expr] = []

    def argument(constant: Expr, tensor: Any) -> Expr:
        variable = relax.Var(f"weight{len(variables)}", type_of(constant))
        variables.append(variable)
        weights.append(tensor.numpy())
        return variable

    bare = replace_constants(program["main"], argument)
    functions = dict(program.functions_items())
    functions[program.get_global_var("main")] = with_parameters(
        bare, [*bare.params, *variables], bare.body
    )
    return IRModule(functions, attrs=program.attrs), weights


def _random_inputs(name: str, types: Sequence[Any]) -> list[NDArray[Any]]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    inputs = []
    for place, type_ in enumerate(types):
        try:
            shape = [int(extent) for extent in type_.shape]
        except (TypeError, AttributeError):
            raise ImportFailed(
                f"bad input {place} of {name!r}: its shape {type_} is not known; give it, e.g. "
                "shapes={'x': (1, 224, 224, 3)}"
            ) from None
        inputs.append(rng.uniform(-1.0, 1.0, shape).astype(str(type_.dtype)))
    return inputs
