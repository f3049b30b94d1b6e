"""Disks that are full, and folders that cannot be written."""

from __future__ import annotations

import ctypes
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

_CAP_DAC_OVERRIDE: Final = 1


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let this process write files of so many bytes at most, as if the disk were full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let this thread write nothing in a folder, even if it is root's."""
    mode = folder.stat().st_mode
    folder.chmod(0o555)
    try:
        with _bound_by_permissions():
            yield
    finally:
        folder.chmod(mode)


@contextmanager
def _bound_by_permissions() -> Iterator[None]:
    """Lay down what lets root write everywhere: see capabilities(7)."""
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this thread
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then their upper halves
    if libc.capget(head, sets):
        pytest.skip("takes Linux")
    effective = sets[0]
    sets[0] = effective & ~(1 << _CAP_DAC_OVERRIDE)
    assert libc.capset(head, sets) == 0
    try:
        yield
    finally:
        sets[0] = effective
        assert libc.capset(head, sets) == 0
