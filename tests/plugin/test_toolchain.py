"""`--ansor-toolchain`: an arm that another interpreter searches."""

from __future__ import annotations

import gzip

import pytest

from tests import interpreters
from tests.plugin.conftest import with_a_case

CASES = """
import pytest
from pytest_ansorbench.workloads import MATRIX_NORM

@pytest.mark.ansor_bench(trials=4, round=2, repeats=1, final_turns=2, final_sets=2)
@pytest.mark.parametrize("case", MATRIX_NORM[:1], ids=str)
def test_norm(ansor_bench, case):
    ansor_bench(case)
"""
ARMS = "--ansor-strategy=random,random@old"


def of_two_toolchains(project):
    """Options for a toolchain that is this interpreter under another path."""
    project.write("test_cases.py", CASES)
    return (ARMS, f"--ansor-toolchain=old={interpreters.as_it_is(project.root)}")


@pytest.fixture
def words(project):
    return of_two_toolchains(project)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A project whose case both have searched, and what that printed."""
    project = with_a_case(tmp_path_factory.mktemp("tuned"))
    words = of_two_toolchains(project)
    outcome = project.bench(*words, "--ansor-json=result.json", "--ansor-progress=confirmed")
    return project, outcome


def test_an_arm_of_another_toolchain_is_an_arm_like_any_other(tuned):
    project, outcome = tuned
    assert outcome.code == 0, outcome.text
    assert "random@old" in outcome.out
    assert "toolchain old: Python 3" in outcome.out and "apache-tvm 0." in outcome.out
    result = project.json("result.json")
    [case] = result["cases"]
    here, there = case["runs"]
    assert (here["strategy"], there["strategy"]) == ("random", "random@old")
    assert here["schedules"] == there["schedules"] or None not in there["schedules"]
    assert there["final"]["status"] == "ok" and len(there["final"]["latencies_s"]) == 4
    assert there["leads"] and {one["status"] for one in there["leads"]} == {"ok"}
    [machine] = result["machines"].values()
    assert machine["toolchains"]["old"]["packages"]["apache-tvm"]
    # A path would name a machine or its user.
    assert str(project.root) not in (project.root / "result.json").read_text()


def test_it_goes_on_where_it_was_interrupted(tuned, project, words):
    tuned[0].copy(project.root)
    [packed] = (project.root / ".ansor_bench" / "journals").iterdir()
    lines = gzip.decompress(packed.read_bytes()).splitlines(keepends=True)
    packed.unlink()
    rounds = [n for n, line in enumerate(lines) if line.startswith(b'{"kind":"round"')]
    packed.with_suffix("").write_bytes(b"".join(lines[: rounds[1] + 1]))
    outcome = project.bench(*words, "--ansor-resume=0001", "--ansor-json=resumed.json")
    assert outcome.code == 0, outcome.text
    [case] = project.json("resumed.json")["cases"]
    assert [len(run["rounds"]) for run in case["runs"]] == [2, 2]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--ansor-strategy=random,random@new"], "given by --ansor-toolchain new=PYTHON"),
        (["--ansor-strategy=random,one@old"], "before the @ one that ships with the package"),
        (["--ansor-strategy=random,nothing@old"], "before the @ one that ships with the package"),
        (["--ansor-toolchain=old"], "expected NAME=PATH"),
        (["--ansor-toolchain=today=python"], "each stands for one toolchain"),
        (["--ansor-toolchain=new=/nowhere/python"], "cannot start the interpreter"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(project, words, more, message):
    outcome = project.bench(*words, *more)
    assert outcome.code == 4, outcome.text
    assert message in outcome.text


def test_a_case_that_the_other_interpreter_lacks_fails_with_the_reason(project, words):
    project.write(
        "test_cases.py",
        CASES.replace("MATRIX_NORM[:1]", "[MINE]").replace(
            "import MATRIX_NORM", "import BatchMatmul\nMINE = BatchMatmul(batch=1, m=3, n=3, k=3)"
        ),
    )
    outcome = project.bench(*words)
    assert outcome.code == 1, outcome.text
    assert "expected an operator that ships with the package" in outcome.out
