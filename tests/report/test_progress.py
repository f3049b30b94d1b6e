"""The live displays: what they say, how they are drawn again, that they go away."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest

from pytest_ansorbench.report.progress import LiveLine, LiveTable, RepeatLog, TrialLog, line
from tests.bench.test_progress import UPDATE


def with_run(**fields):
    return dataclasses.replace(UPDATE, run=dataclasses.replace(UPDATE.run, **fields))


def test_a_line_names_case_strategy_trials_best_and_time_left():
    assert line(UPDATE) == ("doubling  etc  repeat 2/3  trial 7, 44%  best 12.3 GFLOP/s  2:30 left")


def test_gates_that_repeats_are_still_run_for_are_counted():
    text = line(dataclasses.replace(UPDATE, settled=(1, 3)))
    assert "repeat 2/3, 1/3 gates settled  trial" in text
    assert "gates" not in line(dataclasses.replace(UPDATE, settled=(3, 3)))


@pytest.mark.parametrize(
    ("elapsed_s", "left"), [(1.0, "0:03 left"), (3000.0, "2:30:00 left"), (20.4, "1:01 left")]
)
def test_time_left_in_minutes_and_hours(elapsed_s, left):
    assert line(dataclasses.replace(UPDATE, elapsed_s=elapsed_s)).endswith(left)


def test_unknowns_are_named():
    text = line(dataclasses.replace(with_run(best_gflops=0.0), runs_done=0))
    assert "best no valid trial" in text
    assert text.endswith("? left")


def test_a_network_names_its_task_and_its_estimated_latency():
    known = line(with_run(task="2/23 fused_conv2d", estimated_s=0.0123))
    assert "  task 2/23 fused_conv2d  best 12.30 ms by estimate  " in known
    unknown = line(with_run(task="2/23 fused_conv2d"))
    assert "best unknown, some task has no valid trial" in unknown


def test_the_line_is_rewritten_in_place_and_wiped():
    written: list[str] = []
    live = LiveLine(written.append)
    live.update(UPDATE)
    live.update(UPDATE)  # too soon after the first
    assert written == ["\r" + line(UPDATE)]
    live.clear()
    assert written[1] == "\r" + " " * len(line(UPDATE)) + "\r"
    live.clear()
    assert len(written) == 2


def test_what_takes_long_is_shown_at_once_and_gives_way_to_the_next_trial():
    written: list[str] = []
    live = LiveLine(written.append)
    live.update(UPDATE)
    live.note("running 3/19 untuned")
    live.update(UPDATE)
    width = len(line(UPDATE))
    assert written[1:] == ["\r" + "running 3/19 untuned".ljust(width), "\r" + line(UPDATE)]


def test_a_narrow_terminal_gets_a_shorter_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    written: list[str] = []
    LiveLine(written.append).update(UPDATE)
    assert written == ["\r" + line(UPDATE)[:19]]


def test_a_log_has_a_line_for_each_repeat_that_is_over():
    written: list[str] = []
    log = RepeatLog(written.append)
    log.note("compiling")
    for repeat, done in ((2, 5), (2, 16), (3, 17), (3, 30)):
        log.update(dataclasses.replace(UPDATE, repeat=repeat, runs_done=done, elapsed_s=done))
    [line] = written
    total = UPDATE.runs_total
    assert line.startswith(f"doubling  repeat 2/3  run 16.0/{total}  0:16 so far, ")
    log.clear()
    assert written[1].startswith(f"doubling  repeat 3/3  run 30.0/{total}  0:30 so far, ")
    log.clear()
    assert len(written) == 2


def test_repeats_that_run_beside_each_other_have_a_line_each():
    written: list[str] = []
    log = RepeatLog(written.append)
    for repeat in (1, 2, 1, 2, 3, 1):
        log.update(dataclasses.replace(UPDATE, repeat=repeat))
    log.clear()
    assert [re.findall(r"repeat \d", line) for line in written] == [
        ["repeat 1"],
        ["repeat 2"],
        ["repeat 3"],
    ]


def test_a_log_counts_gates_and_sets_cases_apart():
    written: list[str] = []
    log = RepeatLog(written.append)
    log.update(dataclasses.replace(UPDATE, settled=(1, 3)))
    log.update(dataclasses.replace(UPDATE, case="other"))
    assert "  1/3 gates settled before  " in written[0]
    assert written[0].startswith("doubling")


DEFAULT = dataclasses.replace(UPDATE.run, strategy="default")
ETC = dataclasses.replace(
    UPDATE, run=dataclasses.replace(UPDATE.run, trials=5, spent=5 / 16, best_gflops=0.0)
)


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
    assert re.fullmatch(r" +etc +\S+ +trial 5, 31% +best no valid trial", etc)
    assert re.fullmatch(r" +default +\S+ +trial 7, 44% +best 12.3 GFLOP/s", default)
    table.clear()


def test_another_repeat_begins_with_nothing(written: list[str]) -> None:
    table = live_table(written)
    table.update(ETC)
    table._drawn_s = float("-inf")
    table.update(dataclasses.replace(UPDATE, run=DEFAULT, repeat=3))
    assert "etc" not in plain(written)[-1]
    assert len(plain(written)) == 4
    table.clear()


def test_repeats_beside_each_other_share_the_table(written: list[str]) -> None:
    table = live_table(written)
    for repeat in (1, 2, 1):
        table._drawn_s = float("-inf")
        table.update(dataclasses.replace(ETC, repeat=repeat))
    heading, latest, earlier = plain(written)[-3:]
    assert heading.startswith("doubling  repeat 2/3  ")
    assert latest.strip().startswith("etc ")
    assert earlier.strip().startswith("etc, repeat 1 ")
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


def test_an_id_cannot_command_a_terminal():
    odd = dataclasses.replace(UPDATE, case="two\nlines\x1b[2J")
    written: list[str] = []
    LiveLine(written.append).update(odd)
    assert written[0].startswith("\r") and written[0][1:].isprintable()
    log = RepeatLog(written.append)
    log.update(odd)
    log.clear()
    assert written[1].startswith("two lines?[2J  repeat ") and written[1].isprintable()


def test_a_log_of_one_search_tells_how_far_it_is_every_so_often(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("pytest_ansorbench.report.progress.time.monotonic", lambda: now[0])
    written: list[str] = []
    log = TrialLog(written.append, every_s=10.0)
    alone = dataclasses.replace(UPDATE, repeat=1, repeats=1)
    for seconds in (1.0, 9.0, 10.0, 11.0, 19.0):
        now[0] = seconds
        log.update(alone)
    assert written == [line(alone)] and "repeat" not in written[0]
    log.note("measuring\nwhat was found")
    assert written[1:] == [line(alone), "measuring what was found"]
    log.clear()
    assert len(written) == 3
