"""What a long benchmark has measured, so that it goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_ansorbench.measure.local.machine import describe_machine, observe_machine
from pytest_ansorbench.storage import describe_commit


class Notebook:
    """Pieces of JSON; on disk after each one, if there is a file.

    Attributes:
        pieces: Each has the key that tells it from others, the seconds it took, and the cores that
            were busy with other work after it.
    """

    def __init__(self, path: Path | None) -> None:
        """Read what is there.

        Raises:
            SystemExit: It is none of ours, or was measured on another machine.
        """
        self._path = path
        self._record: dict[str, Any] = {"machine": describe_machine(), "commits": [], "pieces": []}
        if path is not None and path.exists():
            self._record = _read(path, self._record)
        self._record["commits"].append(describe_commit(Path(__file__).parent))
        self.pieces: list[dict[str, Any]] = self._record["pieces"]

    def fill(self, measure: Callable[[], Mapping[str, Any]], **key: Any) -> dict[str, Any]:
        """The piece with this key, measured now if it has not been."""
        for piece in self.pieces:
            if key.items() <= piece.items():
                return piece
        started_s = time.monotonic()
        piece = {**key, **measure(), "seconds": round(time.monotonic() - started_s, 3)}
        piece["busy_cores"] = observe_machine().busy_cores
        self.pieces.append(piece)
        if self._path is not None:
            # An interruption leaves the old file or the new one, never half of one.
            unfinished = self._path.with_name(f"{self._path.name}.part")
            unfinished.write_text(json.dumps(self._record) + "\n", encoding="utf-8")
            os.replace(unfinished, self._path)
        told = " ".join(map(str, key.values()))
        print(f"{told}: {piece['seconds']:.1f} s", file=sys.stderr, flush=True)
        return piece


def _read(path: Path, new: Mapping[str, Any]) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        record = None
    if not isinstance(record, dict) or record.keys() != new.keys():
        raise SystemExit(f"{path}: expected a file that this benchmark wrote")
    if record["machine"] != new["machine"]:
        raise SystemExit(
            f"{path} was measured on another machine, or with other versions: expected a file of "
            "this one, or a new one"
        )
    return record
