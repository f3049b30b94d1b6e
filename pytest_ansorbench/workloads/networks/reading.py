"""What all who read models have in common: files, extras, and what importers make of them."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.workloads.networks.failures import ImportFailed, told

if TYPE_CHECKING:
    from types import ModuleType

    from torch.export import ExportedProgram
    from tvm import IRModule


def subject_of(file: Path) -> str:
    """How refusals of a file begin.

    Raises:
        ImportFailed: There is no such file.
    """
    subject = f"bad model file {str(file)!r}"
    if not file.is_file():
        raise ImportFailed(f"{subject}: there is no such file")
    return subject


def content_of(file: Path) -> bytes:
    """What a file holds.

    Raises:
        ImportFailed: There is no such file, or it cannot be read.
    """
    subject = subject_of(file)
    try:
        return file.read_bytes()
    except OSError as error:
        raise ImportFailed(f"{subject}: it cannot be read, {error.strerror}") from error


def extra(module: str) -> ModuleType:
    """A module that the extra of its name brings.

    Raises:
        ImportFailed: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportFailed(
            f"{module} is not installed: pip install 'pytest-ansorbench[{module}]'"
        ) from None


def converted(subject: str, convert: Callable[[], IRModule]) -> IRModule:
    """What TVM's importer makes of a model, or one sentence on why it makes nothing of it."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), told(subject):
        warnings.simplefilter("ignore")  # of importers to themselves
        return convert()


def of_exported(exported: ExportedProgram, subject: str) -> IRModule:
    """A program of PyTorch's in operators of Relax.

    Raises:
        ImportFailed: It leaves something behind but its outputs.
    """
    from tvm.relax.frontend.torch import from_exported_program

    core = exported.run_decompositions()
    _require_nothing_written(core.graph_signature, subject)
    _require_nothing_drawn(core, subject)
    module: IRModule = from_exported_program(
        core, unwrap_unit_return_tuple=True, run_ep_decomposition=False
    )
    return module


def _require_nothing_drawn(core: ExportedProgram, subject: str) -> None:
    """TVM's programs draw nothing: it leaves dropout out, also where it is in training mode."""
    import torch

    for node in core.graph.nodes:
        if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
            continue
        if node.target is torch.ops.aten.native_dropout.default and not node.args[2]:
            continue
        raise ImportFailed(
            f"{subject}: its {node.target} draws at random, which TVM's programs do not; export it "
            "after .eval()"
        )


def _require_nothing_written(signature: Any, subject: str) -> None:
    written = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if any(name.endswith("num_batches_tracked") for name in written):
        raise ImportFailed(
            f"{subject}: its batch norm is in training mode and counts batches; export it after "
            ".eval()"
        )
    if written:
        raise ImportFailed(
            f"{subject}: it writes {', '.join(map(repr, written))}, which TVM's programs cannot; "
            "take that as an input and return what it becomes"
        )
