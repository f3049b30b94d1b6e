"""A case as another library computes it."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.workloads.operator import Operator


class NoKernel(Exception):
    """A library cannot compute a case; the message says why."""


class Host:
    """What a library computes on; this class, this process, where a call returns when done."""

    def seconds(self, call: Callable[[], Any], calls: int) -> float:
        """Seconds of so many calls."""
        started_s = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - started_s

    def flush(self, size: int) -> None:
        """Copy so many bytes, which takes others' from the caches."""
        np.ones(size, np.uint8).copy()


@dataclass(frozen=True)
class LibraryKernel:
    """A case as a library computes it, on inputs that are in place."""

    call: Callable[[], Any]
    """Computes the outputs, in the library's own types and layouts."""
    outputs: Callable[[Any], Sequence[NDArray[Any]]]
    """Makes of that the outputs as the case has them."""
    host: Host = Host()  # noqa: RUF009 - has no state


def library_of(implementation: str) -> str:
    """The package that an implementation is of."""
    return "torch" if implementation == "torch-compile" else implementation


def require_installed(implementation: str) -> None:
    """Check that a library is there: NoKernel if not."""
    library = library_of(implementation)
    if importlib.util.find_spec(library) is None:
        raise NoKernel(f"{library} is not installed: pip install 'pytest-ansorbench[{library}]'")


def require_types(operator: Operator, library: str, *dtypes: str) -> None:
    """Check that a library computes an operator in its data types: NoKernel if not.

    Which type a library sums in, it chooses.
    """
    given = [
        dtype
        for dtype, bound in zip(operator.input_dtypes, operator.input_bounds, strict=True)
        if bound is None  # indices are whole numbers everywhere
    ]
    accumulator = getattr(operator, "accumulator", None)
    if accumulator or not {*given} <= {*dtypes}:
        kinds = " * ".join(dict.fromkeys(given))
        sums = f", summed in {accumulator}" if accumulator else ""
        raise NoKernel(f"{library} has no kernel of {type(operator).__name__} in {kinds}{sums}")
