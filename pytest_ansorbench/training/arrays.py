"""Records of arrays as compressed files: written whole or not at all, read without pickle."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from numpy.typing import NDArray


class BadSamples(ValueError):
    """A file that holds no samples, or others than were asked for."""


def save_arrays(record: DataclassInstance, path: Path) -> None:
    """Write a record whose fields are arrays, texts, numbers or tuples of these."""
    arrays = {one.name: np.asarray(getattr(record, one.name)) for one in fields(record)}
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load_arrays(kind: type[DataclassInstance], path: Path) -> dict[str, NDArray[Any]]:
    """The fields of a record; what else the file holds is not looked at."""
    try:
        # Opened here, since NumPy leaves open what it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {one.name: archive[one.name] for one in fields(kind)}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise BadSamples(
            f"bad samples {path}: {error}; delete the file to collect them anew"
        ) from None


def digest(data: Sequence[DataclassInstance]) -> str:
    """SHA-256 over everything in a data set, in order; the hash on a model's card."""
    total = hashlib.sha256()
    for record in data:
        for one in fields(record):
            value = np.ascontiguousarray(getattr(record, one.name))
            total.update(f"{one.name} {value.dtype.str} {value.shape}\n".encode())
            total.update(value.tobytes())
    return total.hexdigest()
