"""What machines can do at most, kept by fingerprint: it takes seconds to measure."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from pytest_ansorbench.codec import from_json, parse_json, to_json
from pytest_ansorbench.records import MachinePeak
from pytest_ansorbench.storage.files import UnwritableError, written_whole


def read_peak(storage_dir: Path, machine: str) -> MachinePeak | None:
    """The peak of a machine, if it was measured before and can be read."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        text = _path(storage_dir, machine).read_text(encoding="utf-8")
        return from_json(MachinePeak, parse_json(text))
    return None


def write_peak(storage_dir: Path, machine: str, peak: MachinePeak) -> None:
    path = _path(storage_dir, machine)
    try:
        with written_whole(path) as stream:
            stream.write(json.dumps(to_json(peak), indent=1).encode("utf-8"))
    except OSError as error:
        raise UnwritableError(
            f"cannot keep the machine's peak in {str(path)!r}: {error.strerror}"
        ) from None


def _path(storage_dir: Path, machine: str) -> Path:
    return storage_dir / "peaks" / f"{machine}.json"
