"""The paper's strategies in a bench, by name and with models of one's own."""

from __future__ import annotations

import pytest

from tests.pages import page
from tests.plugin.project import trials

pytestmark = pytest.mark.usefixtures("unbuilding_engine")

MATMUL = """
import pytest
from pytest_ansorbench.workloads import BatchMatmul

@pytest.mark.parametrize("case", [BatchMatmul(batch=1, m=16, n=16, k=16)], ids=str)
def test_matmul(ansor_bench, case):
    ansor_bench(case)
"""

OWN_MODEL = """
from pathlib import Path
from pytest_ansorbench.strategies import Evolution, PredictedRules, Strategy

def pytest_ansorbench_strategies(config):
    return [Strategy("mine", proposer=Evolution(rules=PredictedRules(Path("rules.ubj"))))]
"""


SOFTMAX = MATMUL.replace("BatchMatmul(batch=1, m=16, n=16, k=16)", "Softmax(m=16, n=16)").replace(
    "import BatchMatmul", "import Softmax"
)


@pytest.mark.usefixtures("small_populations")
def test_default_against_optimized_is_what_runs_unless_told_otherwise(project):
    project.write("test_cases.py", MATMUL)
    outcome = project.bench(
        *("--ansor-trials=4", "--ansor-round=4", "--ansor-repeats=1", "--ansor-final-turns=2"),
        *("--ansor-final-sets=1", "--ansor-json=result.json", "-v"),
    )
    assert outcome.code == 0, outcome.text
    [case] = project.json("result.json")["cases"]
    runs = {run["strategy"]: run for run in case["runs"]}
    assert list(runs) == ["default", "optimized"]
    assert all(len(trials(run)) == 4 for run in runs.values())
    # What the sketch policy decided, and that nothing was searched for in the dark.
    assert "seed 0, round 1: phase=warm-up, committed_sketch=null" in outcome.out
    assert "generations=0" in outcome.out


def test_a_model_that_does_not_fit_fails_the_test_in_a_sentence(project):
    project.write("test_cases.py", MATMUL)
    project.write("conftest.py", OWN_MODEL)
    project.write("rules.ubj", "no model")
    outcome = project.bench("--ansor-strategy=default,mine", "--ansor-trials=2")
    assert outcome.code == 1
    assert outcome.out.count("bad rule model rules.ubj: ") == 1
    assert "expected a file that ansor-bench train-rules wrote" in outcome.out
    assert "Traceback" not in outcome.out


@pytest.mark.usefixtures("small_populations")
def test_a_schedule_rule_of_a_user_is_gated_against_the_stock_rules(project):
    project.write("conftest.py", page("docs/schedule_rule.py"))
    project.write("test_cases.py", SOFTMAX)
    outcome = project.bench(
        *("--ansor-strategy=default,recomputing", "--ansor-trials=2", "--ansor-round=2"),
        *("--ansor-repeats=2", "--ansor-final-turns=2", "--ansor-final-sets=1"),
        *("--ansor-min-throughput-ratio=1e-6", "--ansor-json=result.json"),
    )
    assert outcome.code == 0, outcome.text
    [case] = project.json("result.json")["cases"]
    stock, mine = ({*run["tasks"][0]["sketches"]} for run in case["runs"][:2])
    assert stock < mine
    told = f"recomputing chose from {len(stock)} of the {len(stock)} sketches of default and "
    assert f"{told}{len(mine - stock)} that it lacks" in outcome.out
    assert "throughput ratio" in outcome.out
