"""The report after a session, as a terminal shows it."""

from __future__ import annotations

import json

YELLOW = "\x1b[33m"


def test_warnings_about_the_machine_are_yellow_and_details_are_not(saved):
    path = saved.root / "saved.json"
    data = json.loads(path.read_text())
    busy = {"busy_cores": 0.9, "stolen_cores": 0.0, "load_1min": None, "frequency_mhz": None}
    for run in data["cases"][0]["runs"]:
        run["before"] = {**busy, "busiest": ["updater 90%"]}
    path.write_text(json.dumps(data))
    outcome = saved.bench("--ansor-replay=saved.json", "--color=yes", "-v")
    assert outcome.code == 0, outcome.text
    report = outcome.out.split(" ansor bench ")[1].splitlines()
    assert [line for line in report if "warning: " in line] == [
        f"{YELLOW}warning: a: the machine was busy at 5 of 5 looks, with up to 0.9 cores of other "
        "work (updater 90%); its times may be off\x1b[0m"
    ]
    assert "    no failures in 20 trials" in report  # without colour


def test_without_colour_a_warning_is_plain(saved):
    outcome = saved.bench("--ansor-replay=saved.json", "--color=no")
    assert outcome.code == 0, outcome.text
    assert "\x1b" not in outcome.out
