"""`ansor-bench tournament`: all strategies of recorded results."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.tournament import tournament_report
from pytest_ansorbench.stats.contests import contests_of
from pytest_ansorbench.storage import write_result
from tests.report.rendered import column, simple_cells
from tests.stats.contests import case_of, runs_of, session, tournament
from tests.stats.test_leads import confirmed
from tests.synthetic import CRITERIA


@pytest.fixture
def told(tmp_path, capsys):
    """Writes results to files, and gives what the command prints of them."""

    def run(*results, words=(), code=0):
        paths = []
        for place, result in enumerate(results):
            paths.append(tmp_path / f"{place}.json")
            write_result(result, paths[-1])
        assert main(["tournament", *map(str, paths), *words]) == code
        printed = capsys.readouterr()
        return printed.err if code else printed.out

    return run


def standings(text: str) -> list[list[str]]:
    return simple_cells(text.split("\n", 1)[1].split("\n\n")[0])


def test_two_arms_have_all_sections(told):
    result = tournament({"default": 1.0, "twice": 0.5})
    report = json.loads(told(result, words=["--format", "json"]))
    keys = [section["key"] for section in report["sections"]]
    assert keys == ["tournament", "pairs", "distributions", "profile", "cases", "notes"]
    kinds = [block["kind"] for section in report["sections"] for block in section["blocks"]]
    assert kinds.count("chart") == 3
    text = told(result)
    assert column(standings(text), "strategy") == ["twice", "default"]
    assert column(standings(text), "mean rank") == ["1.00 [1.00, 1.00]", "2.00 [2.00, 2.00]"]
    assert "<svg" in told(result, words=["--format", "html"])


def test_neither_order_of_files_nor_of_arms_matters(told):
    arms = {"a": 1.0, "b": 0.5, "c": 2.0}
    one, other = tournament(arms, ["x", "y"]), tournament(arms, ["z"])
    one, other = replace(one, created="2023"), replace(other, created="2024")
    turned = tournament(dict(reversed(arms.items())), ["y", "x"])
    assert told(one, other) == told(other, replace(turned, created="2023"))


def test_a_missing_case_is_told_and_not_made_up(told):
    all_there = tournament({"a": 1.0, "b": 0.5}, ["x", "y"])
    alone = session(case_of(runs_of("z", "a")))
    text = told(all_there, alone)
    cells = standings(text)
    assert column(cells, "cases") == ["2/3", "3/3"]
    assert column(cells, "mean rank") == ["1.00 [1.00, 1.00]", "2.00 [2.00, 2.00]"]
    assert "of the 2 of 3 cases in which all arms have a run" in text
    [row] = [line.split() for line in text.splitlines() if line.startswith("z ")]
    assert row[-1] == "b"


def test_cases_that_the_reference_lacks_are_told(told):
    results = tournament({"default": 1.0, "b": 0.5}, ["x"]), tournament({"a": 1.0, "b": 0.5}, ["y"])
    text = told(*results, words=["--reference", "default"])
    assert "pairs: of the 1 of 2 cases in which default has a kernel" in text
    assert "pairs: of the" not in told(*results)


def test_a_bound_is_one_in_csv_too(told):
    missing = [*runs_of("x", "a", latencies=(8.0, 4.0, 2.0, 2.0))]
    text = told(session(case_of(runs_of("x", "b"), missing)), words=["--format", "csv"])
    [table] = [part for part in text.split("\n\n") if "to_1_bound" in part]
    [row] = csv.DictReader(table.splitlines()[table.startswith("#") :])
    assert row["to_1_bound"] in ("at-least", "at-most") and "to_1_low" not in row


def test_without_a_case_that_all_have_there_are_no_ranks(told):
    text = told(session(case_of(runs_of("x", "a")), case_of(runs_of("y", "b"))))
    assert column(standings(text), "mean rank") == ["n/a", "n/a"]


def test_many_arms_have_pairs_with_one_of_them_and_a_row_for_each_curve(told):
    result = tournament({f"arm{place}": 1.0 + place for place in range(9)}, ["x"])
    text = told(result)
    assert "28 more pairs in other formats" in text
    assert "after trials" not in text and "\ntrials " in text
    assert "more pairs" not in told(result, words=["--format", "csv"])
    chosen = told(result, words=["--strategy", "arm1, arm2"])
    assert column(standings(chosen), "strategy") == ["arm1", "arm2"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--reference", "c"], "bad --reference 'c': expected one of: a, b"),
        (["--strategy", "a,c"], "bad --strategy 'c': expected one of: a, b"),
        (["--goal", "soon"], "bad --goal 'soon': expected way"),
    ],
)
def test_what_is_not_there_is_refused(told, words, error):
    assert error in told(tournament({"a": 1.0, "b": 0.5}, ["x"]), words=words, code=2)


def test_results_that_do_not_go_together_are_refused(told):
    one = tournament({"a": 1.0}, ["x"])
    other = replace(one, settings={**one.settings, "goal": "90%"}, created="2025")
    goal = "setting goal is way:60% in one and 90% in the other; --goal chooses one goal for all"
    assert goal in told(one, other, code=2)
    sure = replace(one, settings={**one.settings, "confidence": 0.5}, created="2025")
    refused = told(one, sure, code=2)
    assert "0.5 in the other; they must agree" in refused and "--goal" not in refused
    assert "the same run of a on x with seed 0" in told(one, other, words=["--goal", "90%"], code=2)


def test_progress_is_believed_if_it_is_so_in_any_result(told):
    arms = [[confirmed(run, {3: 2.0}) for run in runs_of("x", name)] for name in "ab"]
    one, other = session(case_of(arms[0])), session(case_of(arms[1]), created="2025")
    believed = replace(other, settings={**other.settings, "progress": "believed"})
    for pair in ((one, believed), (believed, one)):
        assert "progress: each program that led a search counts as fast as the search" in told(
            *pair
        )
    assert "progress: " not in told(one, other)


def test_a_terminal_of_a_hundred_columns_has_room_for_every_table():
    arms = {"default": 1.0, "optimized": 0.5, "rules": 0.75}
    found = contests_of([tournament(arms)], CRITERIA)
    text = Terminal(width=100).render(tournament_report(found, CRITERIA, "default"))
    assert max(map(len, text.split("\n"))) <= 100
    assert "left out for want of room: S to 50%" in text
