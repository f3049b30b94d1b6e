"""Networks of users as cases: of ONNX, PyTorch, TFLite and Relax."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads.case import Task
from pytest_ansorbench.workloads.inputs import GivenInputs, Input, Ways, draws
from pytest_ansorbench.workloads.networks.failures import ImportFailed, told
from pytest_ansorbench.workloads.networks.main_inputs import main_inputs
from pytest_ansorbench.workloads.networks.relax_checks import (
    operators,
    require_known_shapes,
    require_lowered,
)
from pytest_ansorbench.workloads.networks.relax_names import (
    NUM_INPUT,
    replace_constants,
    type_of,
    with_parameters,
)
from pytest_ansorbench.workloads.networks.rewrites import Rewrite
from pytest_ansorbench.workloads.networks.shapes import Shapes
from pytest_ansorbench.workloads.networks.sources import (
    ExportedFile,
    OnnxFile,
    RelaxFunction,
    TfliteFile,
    TorchModule,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.relax import Expr


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

    def __post_init__(self) -> None:
        if self.rewrite is not None and not callable(self.rewrite):
            raise ImportFailed(
                f"bad network {self.id!r}: bad rewrite {self.rewrite!r}: expected a function, e.g. "
                "workloads.winograd"
            )

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

    @cached_property
    def flops(self) -> int:
        """Floating-point operations of one inference of the original, as TVM counts them.

        A rewrite may save some, and is not to count as less throughput for it. Imports TVM.
        """
        if (original := self.original) is not None:
            return original.flops
        return sum(task.weight * task.flops for task in self._imported.tasks)

    @cached_property
    def original(self) -> ImportedNetwork | None:
        """See `RewrittenNetwork.original`."""
        return None if self.rewrite is None else replace(self, rewrite=None)

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
        seed = zlib.crc32(self.id.encode("utf-8", "surrogatepass"))  # a file's name may be no text
        return (*first(seed), *self.weights())

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
            require_known_shapes(module, subject)
            if self.rewrite is not None:
                module = self.rewrite(module)
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
            that computes the same out, e.g. `workloads.fast_math` or a pass of Relax.
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
    """
    file = TfliteFile(Path(path))
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
        example_inputs: Tensors that it can be called with, or one.
        shapes: Without examples, shapes of float32 inputs by the names that `forward` gives them,
            e.g. `{"x": (1, 3, 224, 224)}`.
        inputs: See `from_onnx`.
        rewrite: See `from_onnx`.
    """
    called = name or type(module).__name__
    examples = (example_inputs,) if hasattr(example_inputs, "shape") else tuple(example_inputs)
    if examples and shapes:
        raise ImportFailed(
            f"bad network {called!r}: bad shapes {dict(shapes)}: its examples have their own; "
            "give one of the two"
        )
    exporting = TorchModule(called, module, examples, _frozen(shapes))
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
    """
    return ImportedNetwork(name, RelaxFunction(name, function, _frozen(shapes)), inputs, rewrite)


def _frozen(shapes: Shapes | None) -> Shapes:
    return {
        name: tuple(map(_plain, value)) if isinstance(value, Iterable) else _plain(value)
        for name, value in (shapes or {}).items()
    }


def _plain(extent: Any) -> Any:
    return extent.item() if isinstance(extent, np.integer) else extent


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
    variables: list[tuple[Expr, Expr]] = []  # each constant, and what stands for it

    def argument(constant: Expr, tensor: Any) -> Expr:
        for known, variable in variables:
            if known.same_as(constant):
                return variable
        variable = relax.Var(f"weight{len(variables)}", type_of(constant))
        variables.append((constant, variable))
        weights.append(tensor.numpy())
        return variable

    bare = replace_constants(program["main"], argument)
    functions = dict(program.functions_items())
    functions[program.get_global_var("main")] = with_parameters(
        bare, [*bare.params, *(variable for _, variable in variables)], bare.body
    ).with_attr(NUM_INPUT, len(bare.params))
    return IRModule(functions, attrs=program.attrs), weights
