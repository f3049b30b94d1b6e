"""What the README shows is what the code does."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from pytest_ansorbench.options import OPTIONS
from pytest_ansorbench.workloads import BatchMatmul
from tests.plugin.conftest import trials
from tests.tuning import tune_tir

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
CASE, OPERATOR, IMPORT, STRATEGY, TUNE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_case_collects(project):
    project.write("test_cases.py", CASE)
    outcome = project.bench("--collect-only", "-q")
    assert outcome.code == 0, outcome.text
    assert "test_conv2d[conv2d-n1-h14-w14-ci256-co256-k3-s1-p1]" in outcome.out


def test_the_import_makes_a_case_without_reading_the_file():
    names = {}
    exec(IMPORT, names)
    assert names["mine"].id == "model"


def test_the_operator_and_the_strategy_run(project):
    project.write("conftest.py", STRATEGY)
    project.write(
        "test_cases.py", OPERATOR + "\ndef test_outer(ansor_bench): ansor_bench(Outer(n=32))\n"
    )
    outcome = project.bench(
        "--ansor-strategy=random,bold",
        "--ansor-trials=4",
        "--ansor-round=2",
        "--ansor-repeats=1",
        "--ansor-final-samples=1",
        "--ansor-json=result.json",
    )
    assert outcome.code == 0, outcome.text
    [case] = project.json("result.json")["cases"]
    assert {run["strategy"] for run in case["runs"]} == {"random", "bold"}
    assert all(trial["status"] == "ok" for run in case["runs"] for trial in trials(run))


def test_the_lines_without_pytest_tune_a_kernel_that_runs(tmp_path):
    import numpy as np
    import tvm
    from tvm.s_tir import meta_schedule as ms

    lines = TUNE.replace('"work", 256', f"{str(tmp_path)!r}, 2").replace("ms.tune_tir", "tune_tir")
    assert lines.count("tune_tir") == TUNE.count("tune_tir") == 1 and "256" not in lines
    [task] = BatchMatmul(batch=1, m=16, n=16, k=16).tasks()
    # TVM's builder imports for half a minute, which is its own time limit, before it builds.
    builder = ms.builder.LocalBuilder(max_workers=1, timeout_sec=120)
    names = {"mod": task.mod, "tune_tir": functools.partial(tune_tir, builder=builder)}
    exec(lines, names)
    database, target = names["database"], names["target"]
    assert len(database) == 2
    schedule = ms.tir_integration.compile_tir(database, task.mod, target)
    kernel = tvm.compile(schedule.mod, target)
    output = tvm.runtime.tensor(np.zeros_like(task.check.expected))
    kernel["main"](*map(tvm.runtime.tensor, task.check.inputs), output)
    np.testing.assert_allclose(output.numpy(), task.check.expected, rtol=1e-4, atol=1e-4)


def test_every_option_that_is_mentioned_exists():
    mentioned = set(re.findall(r"--ansor-[a-z]+(?:-[a-z]+)*", README))
    assert mentioned - {"--ansor-x-y"} <= {option.flag for option in OPTIONS} | {"--ansor-bench"}


def test_the_commands_are_those_of_tox():
    environments = re.findall(r"\.venv/bin/tox -e (\w+)", README)
    sections = re.findall(r"^\[testenv:(\w+)\]", (REPOSITORY / "tox.ini").read_text(), re.M)
    assert environments == ["bench", "tests"]
    assert set(environments) <= set(sections)


def test_the_table_is_the_recorded_one():
    """The README's table is what `ansor-bench show` prints of the file it names."""
    import io
    from contextlib import redirect_stdout

    from pytest_ansorbench.cli import main

    [(file, columns)] = re.findall(r"`ansor-bench show (\S+) --columns (\S+)` prints", README)
    out = io.StringIO()
    with redirect_stdout(out):
        main(["show", str(REPOSITORY / file), "--columns", columns])
    assert out.getvalue().strip() in README
