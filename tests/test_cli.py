"""The `ansor-bench` command: what it prints and how it exits."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.records import Estimate, MachineState
from pytest_ansorbench.stats import Limits
from pytest_ansorbench.storage import save_numbered, write_result
from tests.synthetic import make_case_result, make_result


@pytest.fixture
def result_file(tmp_path):
    def write(**limits: float):
        path = tmp_path / "result.json"
        write_result(make_result(make_case_result(limits=Limits(**limits))), path)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({}, 0),
        ({"max_search_ratio": 0.75}, 0),
        ({"max_search_ratio": 0.25}, 1),
        ({"min_throughput_ratio": 2.0}, 1),
    ],
)
def test_show_prints_the_table_and_exits_by_the_verdicts(result_file, capsys, limits, code):
    assert main(["show", result_file(**limits)]) == code
    out = capsys.readouterr().out
    assert "conv2d" in out
    assert "0.50 [0.50, 0.50]" in out


def test_show_takes_columns_sort_markdown_and_verbosity(result_file, capsys):
    path = result_file()
    assert main(["show", path, "--columns", "strategy,reached", "--sort", "case", "-v"]) == 0
    out = capsys.readouterr().out
    assert out.split()[:2] == ["strategy", "reached"]
    assert "propose" in out
    assert main(["show", path, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| case")


def test_show_warns_of_a_machine_that_was_busy(tmp_path, capsys):
    case = make_case_result()
    busy = MachineState(0.9, 0.0, 1.0, None, ("updater 90%",))
    case = dataclasses.replace(
        case, runs=tuple(dataclasses.replace(run, before=busy) for run in case.runs)
    )
    path = tmp_path / "busy.json"
    write_result(make_result(case), path)
    main(["show", str(path)])
    assert "busy at 3 of 3 looks, with up to 0.9 cores" in capsys.readouterr().out


def test_show_believes_the_runs_and_not_the_verdicts_beside_them(tmp_path, capsys):
    honest = make_case_result(limits=Limits(max_search_ratio=0.75))
    [verdict] = honest.verdicts
    lie = dataclasses.replace(
        verdict,
        comparison=dataclasses.replace(verdict.comparison, search_ratio=Estimate(0.01, 0.01, 0.01)),
    )
    write_result(make_result(dataclasses.replace(honest, verdicts=(lie,))), tmp_path / "r.json")
    assert main(["show", str(tmp_path / "r.json")]) == 0
    out = capsys.readouterr().out
    assert "0.50 [0.50, 0.50]" in out
    assert "0.01" not in out


def test_show_refuses_runs_that_do_not_pair_up(tmp_path, capsys):
    case = make_case_result()
    write_result(make_result(dataclasses.replace(case, runs=case.runs[1:])), tmp_path / "r.json")
    assert main(["show", str(tmp_path / "r.json")]) == 2
    assert "seeds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "missing.json"], "bad result file 'missing.json'"),
        (["show", "RESULT", "--columns", "foo"], "bad column 'foo'"),
        (["show", "RESULT", "--sort", "foo"], "bad sort key 'foo'"),
        (["show", "BROKEN"], "broken.json"),
    ],
)
def test_errors_are_one_line_on_standard_error_and_exit_2(
    result_file, tmp_path, capsys, arguments, message
):
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema_version": 1, "cases": ')
    paths = {"RESULT": result_file(), "BROKEN": str(broken)}
    assert main([paths.get(word, word) for word in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("ansor-bench: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_wrong_usage_exits_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["no-such-command"])
    assert stopped.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_list_names_what_was_saved(tmp_path, capsys):
    assert main(["list", "--storage", str(tmp_path)]) == 0
    assert "nothing saved" in capsys.readouterr().out
    path = save_numbered(make_result(), tmp_path, "main")
    assert main(["list", "--storage", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert str(path) in out
    assert "default, fast" in out


def test_cases_and_strategies_are_listed_without_tvm():
    code = (
        "import sys; from pytest_ansorbench.cli import main; "
        "main(['cases']); main(['strategies']); sys.exit('tvm' in sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.returncode == 0, completed.stderr
    assert "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1" in completed.stdout
    assert "231.2" in completed.stdout
    assert "etc" in completed.stdout


def test_the_command_is_installed_and_explains_itself():
    completed = subprocess.run(
        [sys.executable, "-m", "pytest_ansorbench.cli", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert completed.returncode == 0
    for command in ("show", "list", "cases", "strategies"):
        assert command in completed.stdout
    assert "exit codes: 0" in completed.stdout
