"""`ansor-bench kernels`: what it measures, prints, writes and refuses."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ansorbench.cli import kernels as command
from pytest_ansorbench.cli import main
from pytest_ansorbench.kernels import rebuilding
from pytest_ansorbench.measure import process_sets
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.noise_probe import observe_noise
from pytest_ansorbench.measure.side_by_side import Span
from pytest_ansorbench.storage import read_result, write_result
from pytest_ansorbench.storage.files import read_rebuilt
from tests import interpreters
from tests.synthetic import make_case_result, make_result, with_runs
from tests.synthetic_kernels import failed, kernel, rebuilt
from tests.winners.conftest import MATMUL, MLP, found_so, tuned

__all__ = ["tuned"]


@pytest.fixture(scope="module", autouse=True)
def _quick(lasting_servers):
    """Few turns of servers that are warm, and short looks at the noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_sets, "_TURNS", Span(5, 5))
        patch.setattr(rebuilding, "observe_noise", lambda engine, _: observe_noise(engine, 0.2))
        yield


@pytest.fixture
def path(tuned, tmp_path):
    """A result whose runs were measured here."""
    machines = {
        name: {**LocalEngine(_target(machine)).machine, "target": machine["target"]}
        for name, machine in tuned.machines.items()
    }
    here = dataclasses.replace(tuned, machines=machines)
    write_result(here, tmp_path / "tuned.json")
    return str(tmp_path / "tuned.json")


def _target(machine):
    from pytest_ansorbench.environment import resolve_target

    return resolve_target(machine["target"])


def test_recorded_latencies_are_compared_with_todays(path, tmp_path, capsys):
    words = ["--case", MATMUL.id, "--sets", "2", "--json", str(tmp_path / "kernels.json")]
    assert main(["kernels", path, *words]) == 0
    captured = capsys.readouterr()
    assert "set 1: 1 of 1 kernels" in captured.err
    assert "recorded" in captured.out and "today" in captured.out
    written = read_rebuilt(tmp_path / "kernels.json")
    assert len(written.noise_now) == 2
    [made] = written.kernels
    assert [side.toolchain for side in made.sides] == ["recorded", "today"]
    assert made.sides[1].measured.status == "ok"
    assert made.sides[1].measured.sets[-1] == 1


@pytest.mark.slow
def test_another_interpreter_and_a_variant_stand_beside_todays(path, tmp_path, capsys, monkeypatch):
    # Noise matters to latencies of another day, and here are none.
    monkeypatch.setattr(rebuilding, "observe_noise", lambda *_: pytest.fail("looked"))
    words = ["--against", interpreters.as_it_is(tmp_path), "--variant", "o1:opt-level=1"]
    gates = ["--min-throughput-ratio", "0.01", "--min-suite-throughput-ratio", "0.01"]
    assert main(["kernels", path, "--case", MLP.id, "--sets", "2", *words, *gates]) in (0, 125)
    out = capsys.readouterr().out
    assert f"{MLP.id}#0" in out and "o1: Python" in out and "opt-level=1" in out
    assert "suite of 4 kernels, today against against" in out


def test_a_gate_that_is_broken_is_told_by_the_exit_code_and_in_every_format(path, tmp_path, capsys):
    words = ["--variant", "same:opt-level=3", "--min-throughput-ratio", "1e6"]
    formats = ["--format", "terminal", "--format", f"markdown:{tmp_path / 'kernels.md'}"]
    assert main(["kernels", path, "--case", MATMUL.id, "--sets", "3", *words, *formats]) == 1
    assert "broken" in capsys.readouterr().out
    assert "| kernel " in (tmp_path / "kernels.md").read_text()


def test_arms_are_held_against_each_other(path, capsys):
    assert main(["kernels", path, "--arms", "random,again", "--sets", "2"]) == 0
    out, err = capsys.readouterr()
    assert "random" in out and "again: Python" in out and MLP.id not in out
    assert f"left out, tasks of {MLP.id}: not all arms have a kernel of one program" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--case", "conv9d"], "bad --case 'conv9d'"),
        (["--strategy", "x"], "bad --strategy 'x'"),
        (["--arms", "random"], "expected two arms or more"),
        (["--arms", "random,x"], "bad --arms 'x': expected one of: random, again"),
        (["--arms", "random,again", "--strategy", "random"], "expected neither --against nor"),
        (["--sets", "1"], "bad --sets '1': expected auto or a number from 2"),
        (["--variant", "x"], "bad --variant 'x': expected NAME:KEY=VALUE"),
        (["--variant", "today:opt-level=1"], "bad --variant 'today:opt-level=1'"),
        (["--variant", "x:mcpu=z80"], "no CPU 'z80'"),
        (["--target", "hexagon"], "bad --target 'hexagon'"),
        (["--min-throughput-ratio", "-1"], "bad --min-throughput-ratio -1.0: expected a ratio"),
        (["--min-suite-throughput-ratio", "inf"], "bad --min-suite-throughput-ratio inf: expected"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(path, capsys, words, message):
    assert main(["kernels", path, *words]) == 2
    assert message in capsys.readouterr().err


def test_recorded_latencies_of_another_machine_are_not_compared(tuned, tmp_path, capsys):
    machines = {name: {**one, "cpu": "abacus"} for name, one in tuned.machines.items()}
    write_result(dataclasses.replace(tuned, machines=machines), tmp_path / "far.json")
    assert main(["kernels", str(tmp_path / "far.json")]) == 2
    err = capsys.readouterr().err
    assert "measured on another machine (" in err and "--against" in err


def test_recorded_latencies_of_other_caches_are_not_compared(path, capsys):
    result = read_result(Path(path))
    write_result(found_so(result, "network"), Path(path))
    assert main(["kernels", path, "--case", MLP.id]) == 2
    err = capsys.readouterr().err
    assert "measured with other caches (network is now warm): give --against" in err


def test_results_of_several_targets_take_one(path, tmp_path, capsys):
    result = read_result(Path(path))
    [machine] = result.machines.values()
    targets = [machine["target"], '{"kind": "llvm", "mcpu": "x86-64-v2", "num-cores": 1}']
    written = []
    for number, (target, case) in enumerate(zip(targets, result.cases, strict=True)):
        one = dataclasses.replace(
            result,
            machines={str(number): {**machine, "target": target}},
            cases=(with_runs(case, machine=str(number)),),
        )
        written.append(str(tmp_path / f"{number}.json"))
        write_result(one, Path(written[-1]))
    assert main(["kernels", *written]) == 2
    assert f"different targets, {' and '.join(targets)}; give --target" in capsys.readouterr().err


def test_a_result_without_schedules_says_so(tmp_path, capsys):
    write_result(make_result(make_case_result()), tmp_path / "old.json")
    assert main(["kernels", str(tmp_path / "old.json")]) == 2
    assert "it keeps no schedules" in capsys.readouterr().err


@pytest.mark.parametrize(("round_number", "shown"), [(2, 0), (3, 1)])
def test_ctrl_c_shows_what_has_an_interval(path, capsys, monkeypatch, round_number, shown):
    renew, calls = Supervisor.renew, []

    def interrupted(self):
        calls.append(self)
        if len(calls) == 2 * round_number:  # there are two toolchains
            raise KeyboardInterrupt
        renew(self)

    monkeypatch.setattr(Supervisor, "renew", interrupted)
    words = ["--case", MATMUL.id, "--sets", "4", "--variant", "o1:opt-level=1"]
    assert main(["kernels", path, *words]) == 125
    captured = capsys.readouterr()
    assert captured.out.count("  o1  ") == shown + bool(shown)
    assert f"interrupted after {shown} of 1 kernels" in captured.err


@pytest.mark.parametrize(("interrupted", "code"), [(1, 125), (2, 0)])
def test_ctrl_c_in_the_last_look_at_the_noise_loses_nothing(
    path, capsys, monkeypatch, interrupted, code
):
    looks = []

    def look(engine, duration_s):
        looks.append(duration_s)
        if len(looks) == interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(rebuilding, "observe_noise", look)
    assert main(["kernels", path, "--case", MATMUL.id, "--sets", "2"]) == code
    captured = capsys.readouterr()
    assert ("recorded" in captured.out) == (code == 0)
    assert ("ansor-bench: interrupted\n" in captured.err) == (code != 0)


def test_a_file_of_something_else_is_refused(tmp_path):
    from pytest_ansorbench.storage import StorageError

    (tmp_path / "x.json").write_text(json.dumps({"kernels": 1}))
    with pytest.raises(
        StorageError, match=r"x\.json': bad value .*the field 'created', which is missing"
    ):
        read_rebuilt(tmp_path / "x.json")


SAME = (1.0, 1.0, 1.0)
OF_REFERENCE, OF_TODAY = rebuilt(SAME).kernels[0].sides
NO_REFERENCE, NONE_TODAY = (
    dataclasses.replace(rebuilt(SAME), kernels=(kernel("lost", sides),))
    for sides in ((failed("against"), OF_TODAY), (OF_REFERENCE, failed("today")))
)


@pytest.mark.parametrize(
    ("kernels", "gate", "code"),
    [
        (rebuilt(SAME), ["--min-throughput-ratio", "0.9"], 0),
        (rebuilt((1.0, 0.8, 1.0)), ["--min-throughput-ratio", "0.9"], 1),
        (rebuilt(SAME, scatter=0.1), ["--min-throughput-ratio", "1.0"], 125),
        (NO_REFERENCE, ["--min-throughput-ratio", "0.9"], 125),
        (NO_REFERENCE, ["--min-suite-throughput-ratio", "0.9"], 125),
        (NO_REFERENCE, [], 0),
        (NONE_TODAY, [], 1),
        (NONE_TODAY, ["--min-throughput-ratio", "0.9"], 1),
        (NONE_TODAY, ["--min-suite-throughput-ratio", "0.9"], 1),
    ],
)
def test_exit_codes_are_those_of_git_bisect(path, monkeypatch, capsys, kernels, gate, code):
    monkeypatch.setattr(command, "_rebuilt", lambda *_: (kernels, False))
    assert main(["kernels", path, *gate]) == code
    assert ("no kernel of the reference works" in capsys.readouterr().err) == (
        kernels is NO_REFERENCE and gate != []
    )


def test_arms_have_any_name_that_a_strategy_may_have(tuned, tmp_path, monkeypatch):
    name, seen = "größer/(2)", []
    case = tuned.cases[0]
    runs = (
        dataclasses.replace(run, strategy=name) if run.strategy == "again" else run
        for run in case.runs
    )
    named = dataclasses.replace(
        case, strategies=(case.strategies[0], name), runs=tuple(runs), verdicts=()
    )
    write_result(dataclasses.replace(tuned, cases=(named,)), tmp_path / "named.json")
    monkeypatch.setattr(command, "_rebuilt", lambda *of: seen.extend(of[3]) or (rebuilt(SAME), 0))
    assert main(["kernels", str(tmp_path / "named.json"), "--arms", f"random,{name}"]) == 0
    assert [one.name for one in seen] == ["random", name]


def test_samples_and_report_are_written_whichever_of_them_fails(
    path, tmp_path, monkeypatch, capsys
):
    made = tmp_path / "made"

    def meanwhile(*_):
        made.mkdir(exist_ok=True)
        return rebuilt(SAME), False

    monkeypatch.setattr(command, "_rebuilt", meanwhile)
    samples = tmp_path / "samples.json"
    both = ["--format", f"csv:{made}", "--format", "terminal"]
    assert main(["kernels", path, "--json", str(samples), *both]) == 2
    assert read_rebuilt(samples) == rebuilt(SAME)
    captured = capsys.readouterr()
    assert "all kernels" in captured.out and "bad --format 'csv:" in captured.err
    made.rmdir()
    assert main(["kernels", path, "--json", str(made)]) == 2
    captured = capsys.readouterr()
    assert "all kernels" in captured.out and "got 'Is a directory'" in captured.err


@pytest.mark.parametrize(
    ("output", "message"),
    [("", "expected a file, not a folder"), ("tuned.json/a.csv", "nothing can be written to")],
)
@pytest.mark.parametrize("option", ["--json=", "--format=csv:"])
def test_nothing_is_measured_that_cannot_be_written(
    path, tmp_path, monkeypatch, capsys, option, output, message
):
    monkeypatch.setattr(command, "_rebuilt", lambda *_: pytest.fail("measured"))
    assert main(["kernels", path, "--format=terminal", f"{option}{tmp_path / output}"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (lambda folder: "/nowhere/python", "cannot start the interpreter '/nowhere/python'"),
        (interpreters.without_plugin, "install pytest-ansorbench there"),
    ],
)
def test_a_toolchain_that_does_not_start_is_skipped(path, tmp_path, capsys, python, message):
    assert main(["kernels", path, "--against", python(tmp_path)]) == 125
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tvm", "message"),
    [
        ("raise OSError('libtvm.so: undefined symbol')", "ansor-bench: cannot import tvm (OSError"),
        ("", "No module named 'tvm.runtime'"),
    ],
)
def test_a_tvm_that_was_half_built_is_skipped(path, tmp_path, tvm, message):
    (tmp_path / "tvm").mkdir()
    (tmp_path / "tvm" / "__init__.py").write_text(tvm)
    completed = subprocess.run(
        [sys.executable, "-m", "pytest_ansorbench.cli", "kernels", path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(interpreters.ROOT)))},
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 125
    assert message in completed.stderr
