"""The process that has TVM read a database: what it cannot read may end it.

Started as `python -m pytest_ansorbench.winners.reader_main FD FOLDER` with one end of a socket as
file descriptor FD, on which it sends one message.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from typing import Any

from pytest_ansorbench.causes import last_line
from pytest_ansorbench.measure.local.channel import Channel
from pytest_ansorbench.packed import pack_program, pack_trace


def main(arguments: Sequence[str]) -> None:
    """Send what the database holds, or why it cannot be read."""
    # Two thirds of the time that importing TVM takes, for nothing that a database needs.
    sys.modules["torch"] = None  # type: ignore[assignment]
    descriptor, folder = arguments
    channel = Channel(socket.socket(fileno=int(descriptor)))
    try:
        message = _content(folder)
    except Exception as error:  # TVM raises many types
        message = {"error": last_line(error)}
    channel.send(message)


def _content(folder: str) -> dict[str, Any]:
    """Programs once each, and records with the places of theirs."""
    from tvm.s_tir.meta_schedule.database import JSONDatabase
    from tvm_ffi import structural_hash

    programs: dict[int, str] = {}
    records = []
    database = JSONDatabase(work_dir=folder, allow_missing=False)
    for record in database.get_all_tuning_records():
        mod = record.workload.mod
        key = structural_hash(mod)
        if key not in programs:
            programs[key] = pack_program(mod)
        records.append(
            {
                "program": [*programs].index(key),
                "schedule": pack_trace(record.trace),
                "latencies_s": [float(seconds) for seconds in record.run_secs or ()],
                "target": str(record.target),
            }
        )
    return {"programs": [*programs.values()], "records": records}


if __name__ == "__main__":
    main(sys.argv[1:])
