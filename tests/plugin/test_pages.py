"""The code in the docs, run as a reader would run it."""

from __future__ import annotations

import functools
import shlex

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.workloads import BatchMatmul
from tests.pages import blocks, commands, page
from tests.plugin.project import BRIEF, Project, trials
from tests.tuning import tune_tir

SHIPPED, OWN, OPERATOR = blocks(page("docs/cases.md"), "python")
[IMPORT] = blocks(page("docs/networks.md"), "python")
[STRATEGY] = blocks(page("docs/strategies.md"), "python")
TUNING, PARTS, LASTING = blocks(page("docs/metaschedule.md"), "python")
COMMANDS = commands(page("docs/ci.md"))


def test_the_shipped_case_collects(project):
    project.write("test_cases.py", SHIPPED)
    outcome = project.bench("--collect-only", "-q")
    assert outcome.code == 0, outcome.text
    assert "test_conv2d[conv2d-n1-h14-w14-ci256-co256-k3-s1-p1]" in outcome.out


def test_the_import_makes_a_case_without_reading_the_file():
    names = {}
    exec(IMPORT, names)
    assert names["mine"].id == "model"


@pytest.mark.slow
def test_a_model_is_tuned_without_pytest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"model": BatchMatmul(batch=1, m=8, n=8, k=8)}
    exec(TUNING.replace("16/task", "2"), names)
    assert names["tuned"].trials == 2 and (tmp_path / "tuned" / "report.md").exists()


@pytest.mark.usefixtures("fast_engine")
def test_ones_own_in_ten_lines_runs(project):
    project.write("test_cases.py", OWN)
    outcome = project.bench("--ansor-strategy=random", *BRIEF)
    assert outcome.code == 0, outcome.text
    assert "scaled-sum" in outcome.out


@pytest.mark.usefixtures("fast_engine", "small_populations")
def test_the_operator_and_the_strategy_run(project):
    project.write("conftest.py", STRATEGY)
    project.write("test_cases.py", OPERATOR)
    outcome = project.bench("--ansor-strategy=random,bold", *BRIEF, "--ansor-json=result.json")
    assert outcome.code == 0, outcome.text
    [case] = project.json("result.json")["cases"]
    assert {run["strategy"] for run in case["runs"]} == {"random", "bold"}
    assert all(trial["status"] == "ok" for run in case["runs"] for trial in trials(run))


@pytest.mark.slow
def test_the_lines_without_pytest_tune_a_kernel_that_runs(tmp_path):
    import numpy as np
    import tvm
    from tvm.s_tir import meta_schedule as ms

    from pytest_ansorbench.lasting_builder import lasting_builder

    [task] = BatchMatmul(batch=1, m=16, n=16, k=16).tasks()
    # TVM's own builder imports for half a minute before it builds.
    tune = functools.partial(tune_tir, builder=lasting_builder())
    names = {"mod": task.mod, "tune_tir": tune}
    for number, block in enumerate([PARTS, LASTING]):
        folder = tmp_path / str(number)
        lines = block.replace('"work", 256', f"{str(folder)!r}, 2")
        lines = lines.replace("ms.tune_tir", "tune_tir")
        assert lines.count("tune_tir") == block.count("tune_tir") == 1 and "256" not in lines
        exec(lines, names)
        assert len(names["database"]) == 2
    database, target = names["database"], names["target"]
    schedule = ms.tir_integration.compile_tir(database, task.mod, target)
    kernel = tvm.compile(schedule.mod, target)
    output = tvm.runtime.tensor(np.zeros_like(task.check.expected))
    kernel["main"](*map(tvm.runtime.tensor, task.check.inputs), output)
    np.testing.assert_allclose(output.numpy(), task.check.expected, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A project in which saved runs take the place of searches."""
    return Project(tmp_path_factory.mktemp("compared")).replaying("SAVED[:1]")


def test_the_commands_of_ci_do_as_described(compared, monkeypatch, capsys):
    monkeypatch.chdir(compared.root)
    done = set()
    for line in COMMANDS:
        program, *words = shlex.split(line)
        if program == "ansor-bench":
            assert main(words) == 0, line
            done.add(words[0])
        elif not {"--ansor-resume", "--ansor-kernels", "--ansor-strategy"} & {*words}:
            # These have tests of their own, with sessions that are killed, or run anew.
            replay = [] if "--ansor-replay" in words else ["--ansor-replay=saved.json"]
            outcome = compared.pytest(*words, *replay)
            assert outcome.code == 0, (line, outcome.text)
            done |= set(words)
    assert {"--ansor-save", "--ansor-compare", "--ansor-replay", "compare", "show", "merge"} <= done
    assert (compared.root / ".ansor_bench" / "0001_main.json").is_file()
    assert (compared.root / "all.json").is_file()
    assert "| a " in capsys.readouterr().out
