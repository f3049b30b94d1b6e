"""What machines can do at most, kept by fingerprint: it takes seconds to measure."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Final

from pytest_ansorbench.codec import CodecError, from_json, to_json
from pytest_ansorbench.records import MachinePeak
from pytest_ansorbench.storage.errors import UnwritableError
from pytest_ansorbench.storage.strict_json import parse_json

FOLDER: Final = "peaks"


def read_peak(storage_dir: Path, machine: str) -> MachinePeak | None:
    """The peak of a machine, if it was measured before.

    Args:
        storage_dir: Folder of results and journals.
        machine: Its fingerprint.

    Returns:
        The peak; None if there is none that can be read.
    """
    with contextlib.suppress(OSError, ValueError, RecursionError, CodecError):
        text = _path(storage_dir, machine).read_text(encoding="utf-8")
        return from_json(MachinePeak, parse_json(text))
    return None


def write_peak(storage_dir: Path, machine: str, peak: MachinePeak) -> None:
    """Keep the peak of a machine.

    Raises:
        UnwritableError: The folder cannot be written.
    """
    path = _path(storage_dir, machine)
    partial = path.with_suffix(".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(to_json(peak), indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise UnwritableError(
            f"cannot keep the machine's peak in {str(path)!r}: {error.strerror}"
        ) from None


def _path(storage_dir: Path, machine: str) -> Path:
    return storage_dir / FOLDER / f"{machine}.json"
