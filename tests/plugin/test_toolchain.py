"""`--ansor-toolchain`: an arm that another interpreter searches."""

from __future__ import annotations

import pytest

from tests import interpreters
from tests.plugin.conftest import with_a_case
from tests.plugin.project import rounds_in

CONFTEST = """
from dataclasses import dataclass
from pytest_ansorbench.strategies import NoModel, RandomTraces, Strategy

@dataclass(frozen=True)
class Mine:
    inner: RandomTraces

    def start(self, setup):
        return self.inner.start(setup)

def pytest_ansorbench_strategies(config):
    @dataclass(frozen=True)
    class Local(Mine):
        pass

    return [
        Strategy("mine", proposer=Mine(RandomTraces()), cost_model=NoModel()),
        Strategy("local", proposer=Local(RandomTraces()), cost_model=NoModel()),
    ]
"""
CASES = """
from dataclasses import dataclass
import pytest
from pytest_ansorbench.workloads import MatrixNorm

@dataclass(frozen=True, kw_only=True)
class Norm(MatrixNorm):
    @property
    def id(self):
        return f"mine-{super().id}"

@pytest.mark.ansor_bench(trials=4, round=2, repeats=1, final_turns=2, final_sets=2)
@pytest.mark.parametrize("case", [Norm(batch=1, m=256, n=256)], ids=str)
def test_norm(ansor_bench, case):
    ansor_bench(case)
"""
ARMS = "--ansor-strategy=mine,mine@old"


def of_two_toolchains(project):
    """Options for a toolchain that is this interpreter under another path."""
    project.write("conftest.py", CONFTEST)
    project.write("test_cases.py", CASES)
    return (ARMS, f"--ansor-toolchain=old={interpreters.as_it_is(project.root)}")


@pytest.fixture
def words(project):
    return of_two_toolchains(project)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A project whose own case and strategy both have searched, and what that printed."""
    project = with_a_case(tmp_path_factory.mktemp("tuned"))
    words = of_two_toolchains(project)
    outcome = project.bench(*words, "--ansor-json=result.json", "--ansor-progress=confirmed")
    return project, outcome


def test_an_arm_of_another_toolchain_is_an_arm_like_any_other(tuned):
    project, outcome = tuned
    assert outcome.code == 0, outcome.text
    assert "mine@old" in outcome.out
    assert "toolchain old: Python 3" in outcome.out and "apache-tvm 0." in outcome.out
    result = project.json("result.json")
    [case] = result["cases"]
    here, there = case["runs"]
    assert (here["strategy"], there["strategy"]) == ("mine", "mine@old")
    assert here["schedules"] == there["schedules"] or None not in there["schedules"]
    assert there["final"]["status"] == "ok" and len(there["final"]["latencies_s"]) == 4
    assert there["leads"] and {one["status"] for one in there["leads"]} == {"ok"}
    [machine] = result["machines"].values()
    assert machine["toolchains"]["old"]["packages"]["apache-tvm"]
    # A path would name a machine or its user.
    assert str(project.root) not in (project.root / "result.json").read_text()


def test_it_goes_on_where_it_was_interrupted(tuned, project, words):
    tuned[0].copy(project.root)
    lines = project.journal_lines()
    project.cut_journal(lines[: rounds_in(lines)[1] + 1])
    outcome = project.bench(*words, "--ansor-resume=0001", "--ansor-json=resumed.json")
    assert outcome.code == 0, outcome.text
    [case] = project.json("resumed.json")["cases"]
    assert [len(run["rounds"]) for run in case["runs"]] == [2, 2]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--ansor-strategy=random,random@new"], "given by --ansor-toolchain new=PYTHON"),
        (["--ansor-strategy=mine,local@old"], "bad strategy 'local@old': "),
        (["--ansor-strategy=random,nothing@old"], "bad strategy 'nothing': expected one of"),
        (["--ansor-learn=own"], "bad --ansor-learn: what it has learnt, arms of --ansor-toolc"),
        (["--ansor-toolchain=old"], "expected NAME=PATH"),
        (["--ansor-toolchain=today=python"], "each stands for one toolchain"),
        (["--ansor-toolchain=new=/nowhere/python"], "cannot start the interpreter"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(project, words, more, message):
    assert message in project.bench(*words, *more).refusal


def test_a_case_that_cannot_travel_fails_with_the_reason(project, words):
    project.replace("test_cases.py", "[Norm(", "[type('Local', (Norm,), {})(")
    outcome = project.bench(*words)
    assert outcome.code == 1, outcome.text
    assert "calls something else Local, or nothing; define it at the top of" in outcome.out


NETWORK = """
import pytest
from pytest_ansorbench import workloads

def perceptron():
    import numpy as np
    from tvm import relax
    from pytest_ansorbench.workloads.networks.relax_names import tensor_type

    builder, x = relax.BlockBuilder(), relax.Var("x", tensor_type((1, 8), "float32"))
    weight = relax.const(np.linspace(-1, 1, 32, dtype="float32").reshape(8, 4))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(relax.op.nn.relu(relax.op.matmul(x, weight)))
        builder.emit_func_output(y)
    return builder.get()

@pytest.mark.ansor_bench(trials="2/task", round=2, repeats=1, final_turns=2, final_sets=2)
@pytest.mark.parametrize(
    "case",
    [workloads.Mlp(features=8, hidden=(4, 4), classes=2), workloads.from_relax("own", perceptron)],
    ids=str,
)
def test_network(ansor_bench, case):
    ansor_bench(case)
"""


@pytest.mark.slow
def test_networks_are_searched_there_and_judged_whole(project, words):
    project.write("test_cases.py", NETWORK)
    outcome = project.bench(*words, "--ansor-json=result.json", "--ansor-progress=confirmed")
    assert outcome.code == 0, outcome.text
    cases = project.json("result.json")["cases"]
    assert [case["case"] for case in cases] == ["mlp-n1-i8-h4x4-o2", "own"]
    for case in cases:
        here, there = case["runs"]
        assert here["tasks"] == there["tasks"] and None not in there["schedules"]
        assert there["final"]["status"] == "ok" and len(there["final"]["latencies_s"]) == 4
        assert {one["status"] for one in there["leads"]} == {"ok"}
