"""Problems of KernelBench (https://github.com/ScalingIntelligence/KernelBench) as cases.

A problem is a Python file with a class `Model`, a module of PyTorch; `get_init_inputs()` returns
what it is made with, `get_inputs()` what it is called with, and constants of the module are the
sizes.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import sys
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.inputs import Given, Input, Ways
from pytest_ansorbench.workloads.networks.failures import ImportFailed, cause_of, told
from pytest_ansorbench.workloads.networks.imported import ImportedNetwork
from pytest_ansorbench.workloads.networks.reading import (
    content_of,
    converted,
    extra,
    of_exported,
    subject_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch.export import ExportedProgram
    from tvm import IRModule

_PARTS: Final = ("Model", "get_init_inputs", "get_inputs")


def from_kernelbench(path: str | Path, /, **sizes: Any) -> KernelBenchNetwork:
    """A network from a problem of KernelBench. Needs the package `torch`.

    The model is in evaluation mode, its weights are drawn with one seed, and its inputs are those
    that the file draws.

    Args:
        path: The file. It is run, as a conftest is, when the case runs.
        sizes: Other values of the file's constants, e.g. `batch_size=4`; those of the problems are
            of a large GPU.

    Returns:
        The case, called like the file and its sizes.
    """
    file = KernelBenchFile(Path(path), sizes)
    words = [f"{size}{value}" for size, value in sorted(sizes.items())]
    return KernelBenchNetwork("-".join([file.path.stem, *words]), file)


@dataclass(frozen=True, eq=False)
class KernelBenchNetwork(ImportedNetwork):
    """A problem of KernelBench, called with its own inputs."""

    read: KernelBenchFile

    def draws(self, inputs: Sequence[Input]) -> Ways:
        """See `DrawnNetwork.draws`."""
        names = [one.name for one in inputs]

        def arrays(seed: int) -> Mapping[str, Any]:
            return dict(zip(names, self.read.inputs(seed), strict=True))

        return [Given(inputs, arrays, f"get_inputs of {self.read.path.name}", fixed=False)]


@dataclass(frozen=True, eq=False)
class KernelBenchFile:
    """Reads a problem.

    Attributes:
        path: The file.
        sizes: Values of its constants, in place of its own.
    """

    path: Path
    sizes: dict[str, Any]

    def __call__(self) -> IRModule:
        """The model as a Relax module."""
        exported, subject = self.exported(), subject_of(self.path)
        return converted(subject, lambda: of_exported(exported, subject))

    def exported(self) -> ExportedProgram:
        """The model as PyTorch exports it: ImportFailed if it does not."""
        module, subject = self._module, subject_of(self.path)
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = module.Model(*module.get_init_inputs()).eval()
        given = self._drawn(0)
        for one in given:
            if not isinstance(one, torch.Tensor):
                raise ImportFailed(
                    f"{subject}: its get_inputs returns a {type(one).__name__}; expected tensors "
                    "only, so make it a constant of the model"
                )
        with warnings.catch_warnings(), told(subject), torch.no_grad():
            warnings.simplefilter("ignore")  # of PyTorch to itself
            return torch.export.export(model, tuple(given))

    def inputs(self, seed: int) -> tuple[NDArray[Any], ...]:
        """What the file draws with a seed."""
        return tuple(np.array(one.numpy(), order="C") for one in self._drawn(seed))

    def _drawn(self, seed: int) -> list[Any]:
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return [*self._module.get_inputs()]

    @cached_property
    def _module(self) -> ModuleType:
        extra("torch")
        content, subject = content_of(self.path), subject_of(self.path)
        try:
            tree = ast.parse(content, str(self.path))
        except (SyntaxError, ValueError) as error:
            raise ImportFailed(f"{subject}: no Python: {cause_of(error)}") from error
        constants = {name.id for name in _assigned(tree)}
        for size in self.sizes:
            if size not in constants:
                raise ImportFailed(
                    f"{subject}: it has no size {size!r}; expected one of "
                    f"{', '.join(sorted(constants)) or 'none'}"
                )
        module = _imported(self.path, tree, self.sizes)
        if missing := [part for part in _PARTS if not hasattr(module, part)]:
            raise ImportFailed(
                f"{subject}: there is no {missing[0]} in it; expected {', '.join(_PARTS)}, as in "
                "KernelBench's problems"
            )
        return module


def _assigned(module: ast.Module) -> Iterator[ast.Name]:
    """What a file gives values at its top, also several at once, as in `height = width = 64`."""
    for statement in module.body:
        targets: list[ast.expr] = []
        match statement:
            case ast.Assign():
                targets = statement.targets
            case ast.AnnAssign(value=ast.expr()):
                targets = [statement.target]
        for node in itertools.chain.from_iterable(map(ast.walk, targets)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node


def _imported(path: Path, tree: ast.Module, given: Mapping[str, Any]) -> ModuleType:
    """A module of its own from a file, in which given names keep their values.

    What is made of a constant is then made of the given one. No other module has its name, and
    nothing is compiled to a file.
    """
    number = zlib.crc32(repr((str(path.resolve()), sorted(given.items()))).encode())
    name = f"pytest_ansorbench_kernelbench_{number:08x}"
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given)
    for constant in _assigned(tree):
        if constant.id in given:
            constant.id = "_"
    sys.modules[name] = module  # what is in it may look for its own module
    try:
        exec(compile(tree, str(path), "exec", dont_inherit=True), vars(module))
    except BaseException:
        del sys.modules[name]
        raise
    return module
