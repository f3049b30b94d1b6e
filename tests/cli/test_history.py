"""`ansor-bench history`: stored results, one after the other."""

from __future__ import annotations

import dataclasses
import json

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.storage import save_numbered
from tests.synthetic import make_case_result, make_result, make_run

pytestmark = pytest.mark.usefixtures("judging_once")


def result(seconds: float, *names: str):
    """A result whose challenger takes this many seconds a trial on each of its cases."""
    cases = []
    for name in names:
        reference = [make_run(name, seed=seed, final=1.0) for seed in range(6)]
        fast = [
            make_run(name, "fast", seed, seconds_per_trial=seconds, final=1.0) for seed in range(6)
        ]
        cases.append(make_case_result(name, reference, {"fast": fast}))
    return make_result(*cases)


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    """Three results: the second twice as slow, the third without one of the cases."""
    folder = tmp_path_factory.mktemp("storage")
    for name, one in (
        ("main", result(0.25, "a", "b")),
        ("slow", result(0.5, "a", "b")),
        ("less", result(0.5, "a")),
    ):
        save_numbered(one, folder, name)
    return str(folder)


def test_results_are_shown_in_order_with_what_changed(storage, capsys):
    assert main(["history", "--storage", storage]) == 0
    out = capsys.readouterr().out
    places = [out.index(name) for name in ("0001_main", "0002_slow", "0003_less")]
    assert places == sorted(places)
    assert "0002_slow: search ratio S of fast on a is 2.00 [2.00, 2.00] times what it was" in out
    assert "0002_slow: intervals exclude 1 for " in out
    # Six figures of each case and two of the suite.
    assert " of 14 ratios to the result before; chance alone makes about 0.7" in out
    assert "0003_less: b cannot be compared with the result before: " in out
    assert "0003_less: search" not in out


def test_ratios_without_an_interval_exclude_nothing(tmp_path, capsys):
    """Of one repeat only the suite has one."""
    names = "abcdef"
    for seconds in (0.25, 0.5):
        cases = [
            dataclasses.replace(case, runs=tuple(r for r in case.runs if not r.seed), verdicts=())
            for case in result(seconds, *names).cases
        ]
        save_numbered(make_result(*cases), tmp_path, "one")
    assert main(["history", "--storage", str(tmp_path)]) == 0
    assert " of 2 ratios to the result before; chance" in capsys.readouterr().out


def test_every_table_of_a_case_tells_which(storage, capsys):
    assert main(["history", "--storage", storage]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ("a", "b"):
        assert lines[lines.index(name) + 1].split()[:3] == ["no.", "strategy", "search"]
    assert main(["history", "--storage", storage, "--format", "csv"]) == 0
    _, *of_cases = capsys.readouterr().out.rstrip().split("\n\n")
    assert [{row.split(",")[0] for row in one.splitlines()} for one in of_cases] == [
        {"case", "a"},
        {"case", "b"},
    ]


def test_a_strategy_alone_has_its_figures(tmp_path, capsys):
    alone = CaseResult("a", ("default",), (make_run("a", final=0.5),), ())
    save_numbered(make_result(alone), tmp_path, "tuned")
    assert main(["history", "--storage", str(tmp_path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["1", "default", "4.00", "-", "2.00", "-"] in rows


def test_the_newest_can_be_asked_for_and_formats_be_given(storage, capsys):
    assert main(["history", "--storage", storage, "--last", "1", "--format", "json"]) == 0
    sections = json.loads(capsys.readouterr().out)["sections"]
    assert [section["key"] for section in sections] == ["suite", "history"]
    assert main(["history", "--storage", storage, "--format", "html"]) == 0
    assert "<svg" in capsys.readouterr().out


def test_where_nothing_is_stored_it_says_how_to(tmp_path, capsys):
    assert main(["history", "--storage", str(tmp_path)]) == 0
    assert "nothing saved in" in capsys.readouterr().out


def test_a_link_to_nothing_is_passed_over(tmp_path, capsys):
    (tmp_path / "0001_main.json").symlink_to(tmp_path / "gone.json")
    (tmp_path / "h.csv").touch()
    words = ["--storage", str(tmp_path), "--format", f"csv:{tmp_path / 'h.csv'}"]
    assert main(["history", *words]) == 0
    out, err = capsys.readouterr()
    assert "nothing saved in" in out and "0001_main.json': expected an existing file" in err


def test_a_bad_number_is_refused(storage, capsys):
    assert main(["history", "--storage", storage, "--last", "0"]) == 2
    assert "bad --last 0: expected at least 1, e.g. 10" in capsys.readouterr().err
