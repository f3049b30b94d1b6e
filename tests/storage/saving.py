"""A process that saves a result ten times."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from pytest_ansorbench.storage import save_numbered
from tests.forked import forked
from tests.synthetic import make_result


def saving(folder: Path, name: str, start: int) -> psutil.Process:
    """Begins once the other end of the pipe `start` is closed."""
    return forked(
        f"{__name__}:save",
        *(str(folder), name),
        preloaded=(__name__, "tests.synthetic:make_result"),
        descriptors=[start],
    )


def save(folder: str, name: str, start: int) -> None:
    os.read(start, 1)
    for _ in range(10):
        save_numbered(make_result(), Path(folder), name)
