"""The report after a session, as a terminal shows it."""

from __future__ import annotations

import json
import re

YELLOW = "\x1b[33m"


def test_warnings_about_the_machine_are_yellow_and_details_are_not(saved):
    path = saved.root / "saved.json"
    data = json.loads(path.read_text())
    busy = {"busy_cores": 0.9, "stolen_cores": 0.0, "load_1min": None, "frequency_mhz": None}
    for run in data["cases"][0]["runs"]:
        run["before"] = {**busy, "busiest": ["updater 90%"]}
    path.write_text(json.dumps(data))
    outcome = saved.bench("--ansor-replay=saved.json", "--color=yes", "-v", COLUMNS="200")
    assert outcome.code == 0, outcome.text
    report = outcome.out.split(" ansor bench ")[1].splitlines()
    assert [line for line in report if "warning: " in line] == [
        f"{YELLOW}warning: a: the machine was busy at 5 of 5 observations, with up to 0.9 cores of "
        "other work (updater 90%); its times may be off\x1b[0m"
    ]
    assert "    no failures in 20 trials" in report  # without colour


def test_without_colour_a_warning_is_plain(saved):
    outcome = saved.bench("--ansor-replay=saved.json", "--color=no")
    assert outcome.code == 0, outcome.text
    assert "\x1b" not in outcome.out


def test_columns_are_explained_in_two_lines_and_at_length_when_asked(saved):
    brief = saved.bench("--ansor-replay=saved.json")
    assert brief.code == 0, brief.text
    lines = brief.out.split(" ansor bench ")[1].splitlines()
    place = next(index for index, line in enumerate(lines) if line.startswith("S: search time"))
    assert lines[place + 1].startswith("[low, high]: 95% interval over 5 seeds")
    assert "-v explains the columns and tells more of each case" in lines
    assert "from 60% of the reference's gain" not in brief.out
    whole = saved.bench("--ansor-replay=saved.json", "-v")
    assert "from 60% of the reference's gain" in whole.out
    assert "-v explains" not in whole.out


def test_twice_verbose_is_the_full_report(saved):
    outcome = saved.bench("--ansor-replay=saved.json", "-vv")
    assert outcome.code == 0, outcome.text
    report = outcome.out.split(" ansor bench ")[1]
    for part in ("from 60% of the", "search time of a run", "to reproduce"):
        assert part in report, part


def test_the_verdicts_of_the_first_run_fit_a_screen(saved):
    """80 columns and 24 lines, from the verdicts to the end."""
    outcome = saved.on_a_terminal(
        "--ansor-replay=saved.json", "--ansor-max-early-search-ratio=0.9", columns=80
    )
    assert outcome.code == 0, outcome.text
    report = outcome.out.split(" ansor bench ")[1].splitlines()
    plain = [re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", line).rstrip("\r") for line in report]
    assert len(plain) <= 24
    assert all(len(line) <= 80 for line in plain)
    assert "2.00 times sooner over the last 40% of default's gain" in " ".join(
        " ".join(plain).split()
    )
