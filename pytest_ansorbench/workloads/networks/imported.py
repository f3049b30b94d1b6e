"""Networks of users: from ONNX, from PyTorch's exported programs, from TFLite, from Relax."""

from __future__ import annotations

import inspect
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.case import Task
from pytest_ansorbench.workloads.inputs import GivenInputs, Input, Ways, draws
from pytest_ansorbench.workloads.networks.archive import UnsafeArchive, load_exported_program
from pytest_ansorbench.workloads.networks.failures import ImportFailed, cause_of, told
from pytest_ansorbench.workloads.networks.main_inputs import main_inputs
from pytest_ansorbench.workloads.networks.reading import (
    converted,
    extra,
    of_exported,
    subject_of,
)
from pytest_ansorbench.workloads.networks.relax_checks import (
    inputs_of,
    operators,
    require_known_shapes,
    require_lowered,
)
from pytest_ansorbench.workloads.networks.relax_names import (
    replace_constants,
    type_of,
    with_parameters,
)
from pytest_ansorbench.workloads.networks.shapes import (
    Dimension,
    Extent,
    OpenShape,
    Shapes,
    fix,
)

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray
    from torch.export import ExportedProgram
    from tvm import IRModule
    from tvm.relax import Expr

Rewrite = Callable[["IRModule"], "IRModule"]
"""A pass over a Relax module, which computes the same afterwards."""
_TFLITE: Final = b"TFL3"
"""Of a file, from its fifth byte on."""


@dataclass(frozen=True)
class Imported:
    """What became of a model.

    Attributes:
        program: A fused Relax module, whose weights are arguments like its inputs.
        weights: Its last arguments.
        tasks: Its tasks.
    """

    program: IRModule
    weights: tuple[NDArray[Any], ...]
    tasks: tuple[Task, ...]


@dataclass(frozen=True, eq=False)
class ImportedNetwork:
    """A user's model as a `NetworkCase`. It is imported when it is first asked for anything.

    Attributes:
        id: How it is called in tables.
        read: Reads the model as a Relax module with a function `main`.
        inputs: What it is called with; see `from_onnx`.
        rewrite: What becomes of the module before its operators are fused; see `from_onnx`.
    """

    id: str
    read: Callable[[], IRModule]
    inputs: GivenInputs | None = None
    rewrite: Rewrite | None = None

    def __str__(self) -> str:
        return self.id

    @property
    def file(self) -> Path | None:
        """The file that it is read from; None if there is none."""
        return getattr(self.read, "path", None)

    @property
    def shapes(self) -> Shapes:
        """The shapes of inputs that were given."""
        return getattr(self.read, "shapes", {})

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
        """The inputs that are tried first, and the model's own weights."""
        described = main_inputs(self.program(), len(self.weights()))
        first = next(iter(self.draws(described)))
        return (*first(zlib.crc32(self.id.encode())), *self.weights())

    def weights(self) -> tuple[NDArray[Any], ...]:
        """See `DrawnNetwork.weights`."""
        return self._imported.weights

    def draws(self, inputs: Sequence[Input]) -> Ways:
        """See `DrawnNetwork.draws`."""
        return draws(inputs, self.inputs)

    def tasks(self) -> tuple[Task, ...]:
        """See `NetworkCase.tasks`."""
        return self._imported.tasks

    @cached_property
    def _imported(self) -> Imported:
        from pytest_ansorbench.workloads.networks.extract import extract_tasks
        from pytest_ansorbench.workloads.networks.to_relax import fuse

        subject = f"bad network {self.id!r}"
        module = self.read()
        with told(subject):
            module = _for_inference(module)
            if self.rewrite is not None:
                module = self.rewrite(module)
            require_known_shapes(module, subject)
            fused = fuse(module)
            require_lowered(fused, subject)
            program, weights = _with_weights_as_arguments(fused)
            tasks = extract_tasks(program)
        if not tasks:
            seen = ", ".join(operators(module)) or "none"
            raise ImportFailed(
                f"{subject}: there is nothing in it to tune (operators: {seen}); expected at least "
                "one that TVM writes as loops over its inputs"
            )
        return Imported(program, tuple(weights), tasks)


def from_onnx(
    path: str | Path,
    *,
    name: str | None = None,
    shapes: Shapes | None = None,
    inputs: GivenInputs | None = None,
    rewrite: Rewrite | None = None,
) -> ImportedNetwork:
    """A network from an ONNX file. Needs the package `onnx`.

    Args:
        path: The file.
        name: Its id; the file's name without ending by default.
        shapes: Shapes of inputs by their names, or values of symbolic dimensions by theirs, e.g.
            `{"x": (1, 3, 224, 224)}` or `{"batch": 1}`. An extent that the file fixes may be
            another, as long as its operators still fit.
        inputs: What it is called with: an `.npz` file with an array for each input; or a range for
            some, e.g. `{"tokens": (0, 30522)}`; or a function of a seed that returns arrays by
            name. Drawn from ranges on which its outputs are numbers by default.
        rewrite: What becomes of the model before TVM fuses its operators: a Relax module in, one
            that computes the same out, e.g. `workloads.winograd` or a pass of Relax.

    Returns:
        The case. The file is read when the case is run.
    """
    file = OnnxFile(Path(path), _frozen(shapes))
    return ImportedNetwork(name or file.path.stem, file, inputs, rewrite)


def from_exported_program(
    path: str | Path,
    *,
    name: str | None = None,
    shapes: Shapes | None = None,
    inputs: GivenInputs | None = None,
    rewrite: Rewrite | None = None,
) -> ImportedNetwork:
    """A network from a file that `torch.export.save` wrote. Needs the package `torch`.

    Args:
        path: The file. PyTorch would unpickle parts of it, and run what it finds there; a file
            that holds more than JSON and tensors is refused.
        name: Its id; the file's name without ending by default.
        shapes: Shapes of inputs by their names, or values of symbolic dimensions by theirs, which
            PyTorch chooses, e.g. `{"x": (1, 3, 224, 224)}` or `{"s77": 1}`.
        inputs: See `from_onnx`.
        rewrite: See `from_onnx`.

    Returns:
        The case. The file is read when the case is run.
    """
    file = ExportedFile(Path(path), _frozen(shapes))
    return ImportedNetwork(name or file.path.stem, file, inputs, rewrite)


def from_tflite(
    path: str | Path,
    *,
    name: str | None = None,
    inputs: GivenInputs | None = None,
    rewrite: Rewrite | None = None,
) -> ImportedNetwork:
    """A network from a TFLite file. Needs the package `tflite`.

    What is quantized is computed in float32, between inputs and outputs of 8 bits of each layer.

    Args:
        path: The file.
        name: Its id; the file's name without ending by default.
        inputs: See `from_onnx`.
        rewrite: See `from_onnx`.

    Returns:
        The case. The file is read when the case is run.
    """
    file = _TfliteFile(Path(path))
    return ImportedNetwork(name or file.path.stem, file, inputs, rewrite)


def from_module(
    module: Any,
    *,
    name: str | None = None,
    example_inputs: Sequence[Any] = (),
    shapes: Shapes | None = None,
    inputs: GivenInputs | None = None,
    rewrite: Rewrite | None = None,
) -> ImportedNetwork:
    """A network from a `torch.nn.Module`, as it is in inference. Needs the package `torch`.

    Args:
        module: The module. It is exported in evaluation mode, and left in the mode that it was in.
        name: Its id; the name of its class by default.
        example_inputs: Tensors that it can be called with.
        shapes: Without examples, shapes of float32 inputs by the names that `forward` gives them,
            e.g. `{"x": (1, 3, 224, 224)}`.
        inputs: See `from_onnx`.
        rewrite: See `from_onnx`.

    Returns:
        The case. The module is exported when the case is run.
    """
    called = name or type(module).__name__
    exporting = _TorchModule(called, module, tuple(example_inputs), _frozen(shapes))
    return ImportedNetwork(called, exporting, inputs, rewrite)


def from_relax(
    name: str,
    function: Callable[[], IRModule],
    *,
    shapes: Shapes | None = None,
    inputs: GivenInputs | None = None,
    rewrite: Rewrite | None = None,
) -> ImportedNetwork:
    """A network from a Python function that returns a Relax module.

    Args:
        name: Its id.
        function: Returns a module whose function `main` takes the inputs; constants in it are
            the weights.
        shapes: Shapes of inputs by their names, or values of symbolic dimensions by theirs, e.g.
            `{"x": (1, 3, 224, 224)}` or `{"n": 1}`.
        inputs: See `from_onnx`.
        rewrite: See `from_onnx`.

    Returns:
        The case. The function is called when the case is run.
    """
    return ImportedNetwork(name, _RelaxFunction(name, function, _frozen(shapes)), inputs, rewrite)


def _frozen(shapes: Shapes | None) -> Shapes:
    return {
        name: tuple(map(_plain, value)) if isinstance(value, Iterable) else _plain(value)
        for name, value in (shapes or {}).items()
    }


def _plain(extent: Any) -> Any:
    return extent.item() if isinstance(extent, np.integer) else extent


@dataclass(frozen=True)
class _RelaxFunction:
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
class _TfliteFile:
    path: Path

    def __call__(self) -> IRModule:
        tflite = extra("tflite")
        subject = subject_of(self.path)
        content = self.path.read_bytes()
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


_ONE_INPUT: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, eq=False)
class _TorchModule:
    name: str
    module: Any
    example_inputs: Sequence[Any]
    shapes: Shapes

    def __call__(self) -> IRModule:
        torch = extra("torch")
        subject = f"bad network {self.name!r}"
        # As it is used, not as it is trained; what was in which mode is so afterwards.
        modes = [(part, part.training) for part in self.module.modules()]
        self.module.eval()
        try:
            with warnings.catch_warnings(), told(subject):
                warnings.simplefilter("ignore")  # of PyTorch to itself
                exported = torch.export.export(
                    self.module, self.example_inputs, self._zeros(torch, subject)
                )
        finally:
            for part, training in modes:
                part.training = training
        return converted(subject, lambda: of_exported(exported, subject))

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


def _for_inference(module: IRModule) -> IRModule:
    import tvm
    from tvm.relax import transform

    passes = [
        # Only what is in a dataflow block is fused, and around branches importers make none.
        transform.Normalize(),
        transform.ConvertToDataflow(),
        transform.DecomposeOpsForInference(),
        transform.CanonicalizeBindings(),
    ]
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
