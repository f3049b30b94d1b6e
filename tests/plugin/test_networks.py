"""A network through the whole plugin: tuned, judged end to end, resumed, shown."""

from __future__ import annotations

import operator
import re
from functools import partial

import pytest

from pytest_ansorbench.workloads.networks import extract
from tests.plugin.project import RACING

CASES = """
import pytest
from pytest_ansorbench import workloads

SMALL = workloads.Mlp(features=32, hidden=(16, 16), classes=8)

@pytest.mark.parametrize("case", [SMALL], ids=str)
def test_network(ansor_bench, case):
    result = ansor_bench(case)
    assert len(result.runs[0].tasks) == 4
"""
QUICK = (
    "--ansor-strategy=random,racing-random",
    "--ansor-repeats=1",
    "--ansor-final-turns=2",
    "--ansor-final-sets=1",
)


@pytest.fixture
def network(project):
    project.write("test_cases.py", CASES)
    project.write("conftest.py", RACING)
    return project


@pytest.mark.usefixtures("fast_engine")
def test_a_network_is_tuned_and_judged_end_to_end(network):
    outcome = network.bench(
        *QUICK, "--ansor-trials=2/task", "--ansor-round=1", "--ansor-json=result.json", "-v"
    )
    assert outcome.code == 0, outcome.text
    [case] = network.json("result.json")["cases"]
    for run in case["runs"]:
        assert run["budget_trials"] == 8
        assert [entry["task"] for entry in run["rounds"][:4]] == [0, 1, 2, 3]
        assert run["final"]["status"] == "ok"
        assert run["final"]["trial"] is None
        assert len(run["final"]["latencies_s"]) == 2
    assert "end to end, estimated" in outcome.out
    assert "latency (" in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_a_budget_below_one_round_a_task_is_refused(network):
    outcome = network.bench(*QUICK, "--ansor-trials=7", "--ansor-round=2")
    assert outcome.code == 1
    assert (
        "bad --ansor-trials 7: expected at least a round of 2 for each of 4 tasks, e.g. 8 or 2/task"
        in outcome.out
    )


@pytest.mark.usefixtures("fast_engine")
def test_the_scheduler_can_be_chosen_and_what_goes_on_is_shown(network):
    outcome = network.on_a_terminal(
        *QUICK,
        "--ansor-trials=8",
        "--ansor-round=1",
        "--ansor-scheduler=round-robin",
        "--ansor-json=result.json",
    )
    assert outcome.code == 0, outcome.text
    [case] = network.json("result.json")["cases"]
    for run in case["runs"]:
        assert [entry["task"] for entry in run["rounds"]] == [0, 1, 2, 3] * 2
    shown = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", outcome.out)
    name = re.escape(case["case"])
    assert re.search(rf"{name}  running 4/4 untuned: ", shown)
    assert re.search(rf"{name}  \d+:\d\d so far", shown)
    assert re.search(r"trial \d, \d+% +best .* +task [1-4]/4 \w+", shown)
    assert re.search(rf"{name}  measuring what was found, in turn", shown)


@pytest.mark.slow
def test_tasks_are_measured_as_the_network_runs_them(network):
    outcome = network.bench(
        *QUICK, "--ansor-trials=1/task", "--ansor-round=1", "--ansor-json=result.json",
        "--ansor-caches=network", "--ansor-progress=believed",
    )  # fmt: skip
    assert outcome.code == 0, outcome.text
    assert "caches: network: " in outcome.text
    [case] = network.json("result.json")["cases"]
    for run in case["runs"]:
        assert run["caches"] == "network"
        assert run["final"]["status"] == "ok"
        assert len(run["final"]["latencies_s"]) == 2
        # The engine's own policy replaces that of either strategy.
        assert {len(latencies_s) for latencies_s in run["trials"]["latencies_s"]} == {25}


REFUSED = """
import pytest
from pytest_ansorbench import workloads

def build(layers):
    from tvm import relax
    x = relax.Var("x", relax.TensorType([4, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(layers(relax.op, x)))  # fault
    return builder.get()

def passing(op, x):
    return x

def unlowered(op, x):
    return op.ewise_fma(x, x, x)

def fitting(op, x):
    return op.nn.relu(x)

def misfit(op, x):
    return op.reshape(x, (3,))

@pytest.mark.parametrize("layers", [passing, unlowered, fitting, misfit], ids=lambda f: f.__name__)
def test_it(ansor_bench, layers):
    ansor_bench(workloads.from_relax(layers.__name__, lambda: build(layers)))

def test_file(ansor_bench):
    ansor_bench(workloads.from_onnx("broken.onnx"))

class Empty:
    id, flops = "empty", 1
    def tasks(self):
        return ()
    program = arguments = tasks

def test_empty(ansor_bench):
    ansor_bench(Empty())

def test_missing(ansor_bench):
    ansor_bench(workloads.from_onnx("nowhere.onnx"))

class Pair:
    id, flops = "pair", 2
    def tasks(self):
        return workloads.BatchMatmul(batch=1, m=4, n=4, k=4).tasks() * 2

def test_pair(ansor_bench):
    ansor_bench(Pair())
"""


@pytest.fixture
def refusing(project):
    project.write("test_cases.py", REFUSED)
    project.write("broken.onnx", "not a model")
    return project


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        (
            "test_it[passing]",
            "bad network 'passing': there is nothing in it to tune (operators: none); expected at "
            "least one that TVM writes as loops over its inputs",
        ),
        (
            "test_it[unlowered]",
            "bad network 'unlowered': TVM has no kernel of ewise_fma with these arguments; leave "
            "it out of the model, or write it in other operators",
        ),
        ("test_file", "bad model file 'broken.onnx': no ONNX model: "),
        ("test_empty", "bad case 'empty': there is nothing in it to tune; expected at least one"),
        ("test_missing", "bad model file 'nowhere.onnx': there is no such file"),
        ("test_pair", "bad case 'pair': it has 2 tasks, but no program() and arguments()"),
    ],
)
def test_a_network_that_cannot_be_tuned_fails_with_a_sentence_alone(refusing, test, sentence):
    name = f"test_cases.py::{test}"
    outcome = refusing.bench("--ansor-strategy=random", "--ansor-trials=2/task", name)
    assert outcome.code == 1
    [after] = outcome.out.split(f" {test} ")[1:]
    [line] = re.findall(r"^bad .*$", after.partition("short test summary")[0], re.MULTILINE)
    assert line.startswith(sentence)
    assert "Traceback" not in outcome.text and 'File "' not in outcome.text


@pytest.mark.usefixtures("fast_engine")
def test_where_a_refusal_comes_from_is_shown_on_demand(refusing):
    outcome = refusing.bench("--ansor-strategy=random", "--ansor-debug", "-k", "test_file")
    assert outcome.code == 1
    sentence, traceback = outcome.out.split("bad model file 'broken.onnx'")[1:3]
    assert "Traceback (most recent call last)" in sentence
    assert "onnx" in traceback or "protobuf" in sentence
    assert "The above exception was the direct cause" in outcome.out
    assert "DecodeError" in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_what_tvm_says_of_a_user_s_own_code_is_theirs(refusing):
    outcome = refusing.bench("--ansor-strategy=random", "-k", "misfit")
    assert outcome.code == 1
    [number] = [n for n, line in enumerate(REFUSED.splitlines(), 1) if line.endswith("# fault")]
    assert f"test_cases.py:{number}: in build: ValueError: " in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_a_fault_of_the_package_shows_as_one(refusing, monkeypatch):
    monkeypatch.setattr(extract, "extract_tasks", partial(operator.truediv, 1))
    outcome = refusing.bench("--ansor-strategy=random", "-k", "fitting")
    assert outcome.code == 1
    assert "bad network 'fitting'" not in outcome.out
    assert "TypeError: unsupported operand type(s) for /" in outcome.out
    assert "pytest_ansorbench/workloads/networks/imported.py:" in outcome.out


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize("options", [["--ansor-shard=1/2"], []])
def test_a_bad_model_ends_no_session_while_it_is_collected(refusing, options):
    refusing.write("test_parametrized.py", PARAMETRIZED)
    outcome = refusing.bench(
        "--ansor-strategy=random", "--ansor-trials=2/task", "test_parametrized.py", *options
    )
    assert "INTERNALERROR" not in outcome.text
    assert outcome.code == (4 if options else 1)
    assert "bad model file 'broken.onnx': no ONNX model" in outcome.text


PARAMETRIZED = """
import pytest
from pytest_ansorbench import workloads

@pytest.mark.parametrize("case", [workloads.from_onnx("broken.onnx")], ids=str)
def test_model(ansor_bench, case):
    ansor_bench(case)
"""
