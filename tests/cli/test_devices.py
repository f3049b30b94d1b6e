"""The command `devices`, with a tracker and a device on loopback."""

from __future__ import annotations

import pytest

from pytest_ansorbench.cli import main
from tests.measure.remote import devices


def test_devices_are_listed_by_key(capsys):
    with devices.tracker() as tracker:
        where = f"127.0.0.1:{tracker.port}"
        assert main(["devices", where]) == 0
        assert (
            f"no devices at {where}; a server of TVM's on a device adds it"
            in capsys.readouterr().out
        )
        with devices.server(tracker, "rasp4") as device:
            assert main(["devices", where]) == 0
            row = capsys.readouterr().out.splitlines()[-1].split()
            assert row == ["rasp4", "1", "1", "0", f"127.0.0.1:{device.port}"]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nowhere", "bad tracker 'nowhere': expected HOST:PORT, e.g. 127.0.0.1:9190"),
        ("127.0.0.1:9", "no tracker at 127.0.0.1:9"),
    ],
)
def test_what_is_no_tracker_is_refused(capsys, where, message):
    assert main(["devices", where]) == 2
    assert message in capsys.readouterr().err
