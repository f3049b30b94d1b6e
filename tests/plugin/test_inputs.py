"""Networks with the inputs, outputs and types that people bring, through the whole plugin."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("fast_engine")

CASES = """
import numpy as np
import pytest
from pytest_ansorbench import workloads
from tests.relax_modules import relax_module

def network(name, body, *inputs, **given):
    described = [(f"x{place}", shape, dtype) for place, (dtype, shape) in enumerate(inputs)]

    def made(relax, builder, *variables):
        return builder.normalize(body(relax.op, relax, *variables))

    return workloads.from_relax(name, lambda: relax_module(made, *described), **given)

def masked(op, relax, scores, mask):
    hidden = op.equal(mask, relax.const(0, "int64"))
    return op.nn.softmax(op.where(hidden, relax.const(float("-inf"), "float32"), scores))

ROWS = ("float32", (4, 8))
CASES = [
    network("two-outputs", lambda op, relax, x: relax.Tuple([op.sum(x), op.nn.relu(x)]), ROWS),
    network("nested", lambda op, relax, x: relax.Tuple([relax.Tuple([op.exp(x)])]), ROWS),
    network("logarithm", lambda op, relax, x: op.log(x), ROWS),
    network("mask", masked, ROWS, ("int64", (4, 8))),
    network("lookup", lambda op, relax, x, i: op.take(x, i, axis=0), ROWS, ("int64", (3,))),
    network("half", lambda op, relax, x: op.sum(x, axis=1), ("float16", (4, 512))),
    network("brain", lambda op, relax, x: op.nn.softmax(x), ("bfloat16", (4, 8))),
    network(
        "quantized",
        lambda op, relax, x, y: op.matmul(x, y, out_dtype="int32"),
        ("int8", (4, 64)), ("int8", (64, 8)),
    ),
    network(
        "given", lambda op, relax, x: op.log(op.subtract(x, relax.const(9.0))), ROWS,
        inputs={"x0": (10, 20)},
    ),
    network("zero", lambda op, relax, x: op.multiply(x, relax.const(0.0)), ROWS),
    network("misspelt", lambda op, relax, x: op.exp(x), ROWS, inputs={"x": (10, 20)}),
    network(
        "misfit", lambda op, relax, x: op.exp(x), ROWS,
        inputs=lambda seed: {"x0": np.ones((8, 4), np.float32)},
    ),
]

@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(ansor_bench, case):
    ansor_bench(case)
"""
QUICK = (
    *("--ansor-strategy=random", "--ansor-trials=1/task", "--ansor-round=1"),
    *("--ansor-repeats=1", "--ansor-final-turns=2", "--ansor-final-sets=1", "--ansor-check=all"),
)
CHECKED = {
    "two-outputs": ("[-1, 1)", 2),
    "nested": ("[-1, 1)", 1),
    "logarithm": ("[0.1, 1)", 1),
    "mask": ("[-1, 1)", 1),
    "lookup": ("[-1, 1)", 1),
    "half": ("[-1, 1)", 1),
    "brain": ("[-1, 1)", 1),
    "quantized": ("[-1, 1)", 1),
    "given": ("[-1, 1), x0 from [10, 20)", 1),
}
REFUSED = (
    "zero: its outputs are the same for all inputs tried, or no numbers; give 'x0', e.g. "
    "inputs={'x0': (0, 10)} or an .npz file",
    "misspelt: unknown input 'x' in inputs: expected 'x0'",
    "misfit: bad input 'x0' of <lambda>: it is float32[8, 4]; expected float32[4, 8]",
)


def test_what_people_bring_is_tuned_and_compared_or_refused_in_one_sentence(project):
    project.write("test_cases.py", CASES)
    outcome = project.bench(*QUICK, "--ansor-json=result.json")
    assert f"{len(REFUSED)} failed, {len(CHECKED)} passed" in outcome.out, outcome.text
    found = {}
    for case in project.json("result.json")["cases"]:
        [run] = case["runs"]
        assert set(run["trials"]["status"]) == {"ok"}
        assert run["final"]["status"] == "ok"
        assert len(run["checked"]["tasks"]) == len(run["tasks"])
        found[case["case"]] = (run["checked"]["inputs"], run["checked"]["outputs"])
    assert found == CHECKED
    assert "checked: two-outputs: 2 outputs on inputs from [-1, 1)" in outcome.out
    assert "checked: logarithm: 1 output on inputs from [0.1, 1)" in outcome.out
    for sentence in REFUSED:
        assert sentence in outcome.out
    assert "Traceback" not in outcome.text
