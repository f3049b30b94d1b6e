"""A library's kernel of one operator, ready to be called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoKernel(Exception):
    """A library has no kernel of an operator, or a wrong one; the message says which."""


@dataclass(frozen=True)
class LibraryKernel:
    """An operator as a library computes it, on inputs that are in place.

    Attributes:
        call: Computes the output, in the library's own type and layout.
        output: Makes of that the output as the operator has it.
    """

    call: Callable[[], Any]
    output: Callable[[Any], NDArray[np.float32]]
