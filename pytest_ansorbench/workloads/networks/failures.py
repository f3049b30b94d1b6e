"""Why a model cannot be had: one sentence that names it, the cause and what to do."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_OWN: Final = Path(__file__).parents[2]
_LIBRARIES: Final = ("tvm", "tvm_ffi", "torch", "onnx", "google", "tflite", "flatbuffers")
_LONGEST: Final = 300
"""Characters of a cause."""
_FAULTS: Final = (TypeError, AttributeError, LookupError, AssertionError, ArithmeticError)
#: What TVM adds to its messages.
_NOISE: Final = re.compile(r"# Metadata omitted\..* to show it\.|Check failed: .* is false:")


class ImportFailed(ValueError):
    """A model that cannot be imported; the message names the file or case and what is wrong.

    Its `__cause__` is what TVM, PyTorch or ONNX raised, if one of them did.
    """


@contextmanager
def told(subject: str) -> Iterator[None]:
    """Turn an error of TVM, PyTorch or ONNX into a sentence that begins with `subject`.

    What this package or a user's code raises passes unchanged, even if a library called it.
    """
    try:
        yield
    except ImportFailed:
        raise
    except Exception as error:  # libraries raise whatever comes their way
        if not _is_of_a_library(error):
            raise
        raise ImportFailed(f"{subject}: {cause_of(error)}") from error


def cause_of(error: BaseException) -> str:
    """What an error says, on one line; of one that nobody meant to raise, where it was as well."""
    text = _NOISE.sub("", str(error))
    if "Traceback (most recent call last)" in text:  # PyTorch quotes those of others
        text = text.strip().splitlines()[-1]
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
    if not text or isinstance(error, _FAULTS):
        text = f"{type(error).__name__}: {text}".removesuffix(": ") + _place(error)
    return "".join(c if c.isprintable() else "?" for c in text)


def _place(error: BaseException) -> str:
    """The last line of Python that an error was raised in, e.g. ` (topi/tensor.py:62, in full)`."""
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        path = Path(frame.f_code.co_filename)
        if path.is_file():
            return f" ({path.parent.name}/{path.name}:{line}, in {frame.f_code.co_name})"
    return ""


def _is_of_a_library(error: BaseException) -> bool:
    """Whether the last call out of this package went into a library, and did not come back."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    while files and not Path(files[-1]).is_relative_to(_OWN):
        called = files.pop()
        if files and Path(files[-1]).is_relative_to(_OWN):
            # TVM's own sources are not there; neither are those of compiled modules.
            return not os.path.isfile(called) or any(
                Path(called).is_relative_to(Path(module.__file__).parent)
                for module in map(sys.modules.get, _LIBRARIES)
                if module is not None and module.__file__
            )
    return False
