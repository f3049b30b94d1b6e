"""`from_te` and `from_tir` in a test file: tuned, held to NumPy, or refused with one sentence."""

from __future__ import annotations

import pytest

from tests.plugin.project import BRIEF

pytestmark = pytest.mark.usefixtures("fast_engine")

CASES = """
import pytest
from pytest_ansorbench import workloads
from tests.workloads import odd_programs

def scaled_sum():
    from tvm import te

    x, y = (te.placeholder((4, 8), name=name) for name in "xy")
    return x, y, te.compute((4, 8), lambda i, j: 2 * x(i, j) + y(i, j), name="z")

def reference(x, y):
    return 2 * x + y

CASES = [
    workloads.from_te("right", scaled_sum, reference),
    workloads.from_te("wrong", scaled_sum, lambda x, y: x + y),
    workloads.from_tir("scalar", odd_programs.scalar_argument),
]

@pytest.mark.parametrize("case", CASES, ids=str)
def test_own(ansor_bench, case):
    ansor_bench(case)
"""


def test_an_operator_of_ones_own_is_tuned_held_to_its_reference_or_refused(project):
    project.write("test_cases.py", CASES)
    outcome = project.bench("--ansor-strategy=random", *BRIEF, "--ansor-json=result.json")
    assert outcome.code == 1, outcome.text
    assert "2 failed, 1 passed" in outcome.out
    assert "wrong: random has no valid kernel: 2 of 2 trials wrong-result" in outcome.out
    assert "argument 1 of 'scalar', 'a', is a scalar, and kernels are called with" in outcome.out
    assert "Traceback" not in outcome.text and "session.py" not in outcome.text
    right, _ = project.json("result.json")["cases"]
    assert right["runs"][0]["final"]["status"] == "ok"
    assert right["definition"]["made"]["name"] == "OwnOperator"
    assert right["definition"]["fields"]["source"]["named"]["name"] == "scaled_sum"
