"""Records of arrays as compressed files: written whole or not at all, read without pickle."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.arrays import BadArchive, opened_archive
from pytest_ansorbench.storage.files import written_whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Like = Mapping[str, tuple[type[np.generic], tuple[str | int, ...]]]
"""Of each field of a record the kind of its values, and its axes: an extent, or a name for one."""


class BadSamples(ValueError):
    """A file that holds no samples, or others than were asked for."""


def save_arrays(record: DataclassInstance, path: Path) -> None:
    """Write a record whose fields are arrays, texts, numbers or tuples of these.

    By LZMA, which `numpy.load` reads: half of what `numpy.savez_compressed` makes of features.
    """
    with written_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for one in fields(record):
            with archive.open(f"{one.name}.npy", "w") as entry:
                array = np.asarray(getattr(record, one.name))
                np.lib.format.write_array(entry, array, allow_pickle=False)


def load_arrays(path: Path, like: Like) -> dict[str, Any]:
    """The fields of a record: arrays, and what has no axes as text or number.

    What else the file holds is not looked at.

    Raises:
        BadSamples: They are not there, or are not alike.
    """
    known: dict[str | int, int] = {}
    try:
        with opened_archive(path) as archive:
            arrays = {name: archive[name] for name in like}
            for name, (kind, axes) in like.items():
                array = arrays[name]
                for axis, size in zip(axes, array.shape, strict=False):
                    if isinstance(axis, str):
                        known.setdefault(axis, size)
                shape = tuple(known.get(axis, axis) for axis in axes)
                if not np.issubdtype(array.dtype, kind) or array.shape != shape:
                    found, expected = [*array.shape], [*shape]
                    raise BadArchive(
                        f"its {name} is {array.dtype}{found}; expected {kind.__name__}{expected}"
                    )
    except BadArchive as error:
        raise BadSamples(
            f"bad samples {path}: {error}; delete the file to collect them anew"
        ) from None
    return {name: array if array.shape else array.item() for name, array in arrays.items()}


def digest(data: Sequence[DataclassInstance]) -> str:
    """SHA-256 over everything in a data set, in order; the hash on a model's card."""
    total = hashlib.sha256()
    for record in data:
        for one in fields(record):
            value = np.ascontiguousarray(getattr(record, one.name))
            total.update(f"{one.name} {value.dtype.str} {value.shape}\n".encode())
            total.update(value.tobytes())
    return total.hexdigest()
