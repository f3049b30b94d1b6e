"""The command `devices`: what a tracker has."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to a parser."""
    devices = commands.add_parser(
        "devices",
        help="list the devices that a tracker hands out",
        description="Lists what TVM's tracker at an address has: by key, how many devices there "
        "are, how many of them are free, how many requests wait for one, and where they are.",
    )
    devices.add_argument("tracker", metavar="HOST:PORT", help="e.g. 127.0.0.1:9190")
    devices.set_defaults(run=_devices)


def _devices(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.measure.remote.settings import DeviceAddress
    from pytest_ansorbench.measure.remote.tracker import TrackerConnection, TrackerError

    try:
        address = DeviceAddress.parse_server(given.tracker)
    except ValueError:
        raise Refusal(
            f"bad tracker {given.tracker!r}: expected HOST:PORT, e.g. 127.0.0.1:9190"
        ) from None
    try:
        with TrackerConnection(address) as connection:
            queues = connection.queues()
    except TrackerError as error:
        raise Refusal(str(error)) from None
    rows = [
        [one.key, len(one.addresses), one.free, one.waiting, ", ".join(one.addresses)]
        for one in queues
    ]
    if rows:
        headings = ["key", "devices", "free", "waiting", "addresses"]
        print(tabulate(rows, headers=headings, disable_numparse=True))
    else:
        print(
            f"no devices at {address}; python -m tvm.exec.rpc_server --tracker={address} "
            "--key=NAME on a device adds it"
        )
    return HOLDS
