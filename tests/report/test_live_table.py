"""The live display: what it says of each arm, and that nothing of it stays."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest

from pytest_ansorbench.report import LiveTable
from tests.bench.test_progress import UPDATE

DEFAULT = dataclasses.replace(UPDATE.run, strategy="default")
ETC = dataclasses.replace(UPDATE, run=dataclasses.replace(UPDATE.run, trials=5, best_gflops=0.0))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return []


def live_table(written: list[str], *, coloured: bool = False) -> LiveTable:
    return LiveTable(written.append, coloured=coloured)


def plain(written: list[str]) -> list[str]:
    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", "".join(written)).replace("\r", "\n")
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def test_each_arm_of_the_repeat_has_its_trials_and_its_best(written: list[str]) -> None:
    table = live_table(written)
    table.update(dataclasses.replace(ETC, settled=(1, 3)))
    table._drawn_s = float("-inf")
    table.update(dataclasses.replace(UPDATE, run=DEFAULT, settled=(1, 3)))
    heading, etc, default = plain(written)[-3:]
    assert heading == "doubling  repeat 2/3  1/3 gates settled  0:50 so far, 2:30 left"
    assert re.fullmatch(r" +etc +\S+ +trial 5/16 +best no valid trial", etc)
    assert re.fullmatch(r" +default +\S+ +trial 7/16 +best 12.3 GFLOP/s", default)
    table.clear()


def test_another_repeat_begins_with_nothing(written: list[str]) -> None:
    table = live_table(written)
    table.update(ETC)
    table._drawn_s = float("-inf")
    table.update(dataclasses.replace(UPDATE, run=DEFAULT, repeat=3))
    assert "etc" not in plain(written)[-1]
    assert len(plain(written)) == 4
    table.clear()


def test_it_is_drawn_a_few_times_a_second_only(written: list[str]) -> None:
    table = live_table(written)
    table.update(ETC)
    before = len(written)
    table.update(UPDATE)
    assert len(written) == before
    table.note("measuring what was found, in turn")
    assert plain(written)[-1] == "measuring what was found, in turn"
    table.clear()


def test_all_of_it_is_wiped_and_the_cursor_is_back(written: list[str]) -> None:
    table = live_table(written)
    table.clear()
    assert written == []
    table.update(ETC)
    table.clear()
    erased = "".join(written)
    assert erased.count("\x1b[2K") >= 2  # both lines
    assert erased.rindex("\x1b[?25h") > erased.rindex("\x1b[?25l")
    table.update(ETC)  # the next case
    table.clear()


def test_colours_are_left_out_where_they_are_not_wanted(
    written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    live_table(written, coloured=True).update(ETC)
    assert re.search(r"\x1b\[\d+m", "".join(written))
    without: list[str] = []
    live_table(without, coloured=False).update(ETC)
    monkeypatch.setenv("NO_COLOR", "1")
    live_table(without, coloured=True).update(ETC)
    assert not re.search(r"\x1b\[(3|9)\d", "".join(without))


def test_a_network_names_its_task_and_markup_stays_text(written: list[str]) -> None:
    table = live_table(written)
    run = dataclasses.replace(ETC.run, task="2/23 [bold]conv", estimated_s=0.01)
    table.update(dataclasses.replace(ETC, case="[red]a", run=run))
    heading, arm = plain(written)
    assert heading.startswith("[red]a  repeat")
    assert arm.endswith("best 10.00 ms by estimate  task 2/23 [bold]conv")
    table.clear()


def test_standard_output_stays_pytest_s(
    written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    table = live_table(written)
    table.update(ETC)
    print("a test prints")
    assert out.getvalue() == "a test prints\n"
    table.clear()
