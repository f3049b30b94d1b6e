"""`pytest --ansor-bench` from end to end: table, outcome, faults, interrupt."""

from __future__ import annotations

import os
import pty
import re
from contextlib import suppress

import psutil
import pytest

from pytest_ansorbench.measure.local import fork_server
from pytest_ansorbench.measure.local.interpreter import Interpreter
from tests.forked import wait_until
from tests.measure.local.processes import ended
from tests.plugin.apart import Apart
from tests.plugin.conftest import measuring_fast
from tests.plugin.project import BRIEF, trials

REAL_CASES = """
import pytest
from pytest_ansorbench import workloads

from tests.faults import Doubling

SMALL = [workloads.BatchMatmul(batch=1, m=16, n=16, k=16), Doubling()]

@pytest.mark.parametrize("case", SMALL, ids=str)
def test_small(ansor_bench, case):
    result = ansor_bench(case)
    assert result.case == case.id
"""


def rows(text: str) -> list[list[str]]:
    """Cells of the table in a terminal summary, without its headings."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if re.fullmatch(r"-+(  -+)+", line.strip()))
    table = []
    for line in lines[start + 1 :]:
        if not line.strip():
            break
        table.append(re.split(r"\s{2,}", line.strip()))
    return [cells for cells in table if not set(cells[0]) <= {"-"}]


@pytest.mark.usefixtures("small_populations")
def test_real_searches_of_two_strategies_end_in_a_table(project):
    project.write("test_cases.py", REAL_CASES)
    outcome = project.bench(
        "--ansor-strategy=etc,random",
        *BRIEF,
        "--ansor-progress=believed",
        "--ansor-json=result.json",
        "-v",
    )
    assert outcome.code == 0, outcome.text
    cells = rows(outcome.out)
    assert [row[0] for row in cells[:4]] == ["matmul-b1-m16-n16-k16"] * 2 + ["doubling"] * 2
    assert [row[1] for row in cells[:2]] == ["etc", "random"]
    assert cells[-1][0] == "all cases"
    assert "phase=warm-up" in outcome.out
    runs = [run for case in project.json("result.json")["cases"] for run in case["runs"]]
    assert len(runs) == 2 * 2
    assert all(1 <= len(trials(run)) <= 2 for run in runs)
    assert all(len(run["final"]["latencies_s"]) == 2 for run in runs)


def test_without_the_option_cases_are_skipped_with_a_reason_and_without_tvm(project):
    project.write(
        "conftest.py",
        "import sys\n"
        "def pytest_unconfigure(config):\n"
        "    print('imported:', sorted({'tvm', 'xgboost'} & set(sys.modules)))\n",
    )
    outcome = project.pytest_apart("-rs")
    assert outcome.code == 0
    assert "1 skipped" in outcome.out
    assert "tuning case; run it with --ansor-bench" in outcome.out
    assert "imported: []" in outcome.out


def test_other_tests_run_with_the_option_as_without(project):
    project.write("test_cases.py", "def test_plain(): pass\n")
    outcome = project.bench()
    assert outcome.code == 0
    assert "1 passed" in outcome.out
    assert "ansor bench" not in outcome.out


def test_faulty_candidates_are_failed_trials_and_the_search_goes_on(project):
    outcome = project.bench(
        "--ansor-strategy=faulty",
        "--ansor-trials=6",
        "--ansor-run-timeout=2",
        "--ansor-progress=believed",
        "--ansor-check=all",  # the wrong one comes after a right one, and may be slower
        "--ansor-json=result.json",
        "-v",
    )
    assert outcome.code == 0, outcome.text
    [case] = project.json("result.json")["cases"]
    [run] = case["runs"]
    assert [trial["status"] for trial in trials(run)] == [
        *("ok", "run-error", "run-timeout", "wrong-result", "build-error", "ok"),
    ]
    assert rows(outcome.out)[0][-2:] == ["4/6", "-"]


@pytest.mark.usefixtures("fast_engine")
def test_a_failing_setup_of_one_case_does_not_stop_the_others(project):
    project.write(
        "test_cases.py",
        "from tests.faults import Doubling\n"
        "def test_bad(ansor_bench): ansor_bench('conv2d-no-such')\n"
        "def test_none(ansor_bench): ansor_bench(None)\n"
        "def test_twice(ansor_bench):\n    ansor_bench(Doubling())\n    ansor_bench(Doubling())\n"
        "def test_good(ansor_bench): ansor_bench(Doubling())\n",
    )
    outcome = project.bench("--ansor-strategy=one,two", *BRIEF)
    assert outcome.code == 1
    assert "3 failed, 1 passed" in outcome.out
    assert "bad case 'conv2d-no-such': expected one of the" in outcome.out
    assert "bad case None: expected a case or the id of one" in outcome.out
    assert "called twice" in outcome.out


@pytest.mark.usefixtures("target")  # TVM is here, and no worker can import it
def test_workers_that_do_not_start_fail_the_test_with_the_cause(project, tmp_path, monkeypatch):
    monkeypatch.setattr(fork_server, "Interpreter", Interpreter)
    (tmp_path / "planted").mkdir()
    project.write("planted/tvm.py", "raise ImportError('planted')\n")
    outcome = project.bench(PYTHONPATH=str(tmp_path / "planted"))
    assert outcome.code == 1, outcome.text
    assert "the measurement engine gave up: the fork server did not warm up" in outcome.out
    assert "ImportError: planted" in outcome.out


def children(process: Apart) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def test_an_interrupt_shows_what_finished_leaves_no_process_and_tells_how_to_go_on(project):
    project.write(
        "test_cases.py",
        "import pytest\n"
        "from tests.faults import Doubling\n"
        "def test_first(ansor_bench): ansor_bench(Doubling())\n"
        "@pytest.mark.ansor_bench(repeats=50)\n"
        "def test_second(ansor_bench): open('reached', 'w'); ansor_bench(Doubling())\n",
    )
    arguments = ("--ansor-strategy=one,two", *BRIEF, "--ansor-json=result.json")
    with project.start("--ansor-build-workers=1", *arguments) as process:
        wait_until((project.root / "reached").exists)
        workers = children(process)
        assert workers
        out = process.interrupt()
    assert out.endswith("exit code 2\n"), out
    assert rows(out)[0][0] == "doubling"
    assert "KeyboardInterrupt" in out
    assert all(ended(worker.pid) for worker in workers)
    assert len(project.json("result.json")["cases"]) >= 1
    assert "to go on where this stopped: --ansor-resume=0001" in out
    with measuring_fast():
        resumed = project.bench(*arguments, "--ansor-resume=1")
    assert resumed.code == 0, resumed.text
    assert "to go on" not in resumed.out


class Screen:
    """What a terminal has shown, read from its other end."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._shown = b""
        os.set_blocking(end, False)

    def shows(self, pattern: str) -> bool:
        with suppress(BlockingIOError):
            self._shown += os.read(self._end, 65536)
        text = re.sub(rb"\x1b\[[?\d;]*[A-Za-z]", b"", self._shown).decode(errors="replace")
        return re.search(pattern, text) is not None


def test_a_killed_session_shows_what_goes_on_and_leaves_neither_process_nor_file(project, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    screen, end = pty.openpty()
    variables = {"TMPDIR": str(temporary), "TERM": "xterm", "COLUMNS": "200"}
    with project.start("--ansor-final-turns=1000", terminal=(screen, end), **variables) as process:
        terminal = Screen(screen)
        wait_until(lambda: terminal.shows(r"doubling  (running 1/1|\d+:\d\d so far)"))
        wait_until(lambda: len(children(process)) >= 2)  # the fork server and a candidate
        workers = children(process)
        process.kill()
    wait_until(lambda: not any(worker.is_running() for worker in workers), timeout_s=30)
    assert not list(temporary.rglob("*"))


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize(("arguments", "live"), [((), True), (("-q",), False)])
def test_progress_is_shown_on_a_terminal_unless_quiet(project, arguments, live):
    outcome = project.on_a_terminal("--ansor-repeats=1", *arguments)
    assert outcome.code == 0, outcome.out
    plain = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", outcome.out)
    shown = re.search(
        r"doubling  \d+:\d\d so far, .*\s+(one|two) .*trial \d, \d+% +best [\d.]+ GFLOP/s", plain
    )
    assert bool(shown) == live


@pytest.mark.usefixtures("fast_engine")
def test_nothing_live_and_no_colour_when_piped(project):
    outcome = project.bench("--ansor-repeats=1")
    assert outcome.code == 0
    assert "\r" not in outcome.out
    assert "\x1b" not in outcome.out
