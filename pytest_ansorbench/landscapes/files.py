"""One landscape, one file: compressed JSON, checked like any other when it is read."""

from __future__ import annotations

from pathlib import Path

from pytest_ansorbench.codec import dump_json, to_json
from pytest_ansorbench.landscapes.records import LANDSCAPE_VERSION, Landscape
from pytest_ansorbench.storage import MissingResultError, StorageError
from pytest_ansorbench.storage.files import load_json, read_record, write_text

_WHAT = "landscape"


def write_landscape(landscape: Landscape, path: Path) -> None:
    """Write it whole or not at all, the same bytes for the same landscape; one point a line."""
    values = to_json(landscape)
    results = ",\n".join(map(dump_json, values.pop("results")))
    head = dump_json(values).removesuffix("}")
    write_text(path, [f'{head},"results":[\n{results}\n]}}\n'], _WHAT)


def read_landscape(path: Path) -> Landscape:
    """Read one.

    Raises:
        StorageError: It is none, is of another version or lacks a point; the message says which.
    """
    try:
        data = load_json(path, _WHAT)
    except MissingResultError as error:  # which is no result that a session would have saved
        raise StorageError(str(error)) from None
    version = data.get("landscape_version") if isinstance(data, dict) else None
    if type(version) is not int:
        raise StorageError(
            f"bad landscape {str(path)!r}: expected a file of ansor-bench landscape record, with "
            "a landscape_version; was it written by another tool?"
        )
    if version != LANDSCAPE_VERSION:
        raise StorageError(
            f"bad landscape {str(path)!r}: landscape_version {version} is not {LANDSCAPE_VERSION}, "
            "which this version of pytest-ansorbench reads"
        )
    return read_record(path, Landscape, data, _WHAT)
