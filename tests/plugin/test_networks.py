"""A network through the whole plugin: tuned, judged end to end, resumed, shown."""

from __future__ import annotations

import re

import pytest

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
STRATEGY = """
from dataclasses import replace
from pytest_ansorbench.strategies import RacingMeasurement, Registry

def pytest_ansorbench_strategies(config):
    random = Registry().get("random")
    return [replace(random, name="racing-random", measurement=RacingMeasurement())]
"""


@pytest.fixture
def network(project):
    project.write("test_cases.py", CASES)
    project.write("conftest.py", STRATEGY)
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
    assert "latency (ms)" in outcome.out


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
    assert re.search(rf"{name}  repeat 1/1  ", shown)
    assert re.search(r"trial \d, \d+% +best .* +task [1-4]/4 \w+", shown)
    assert re.search(rf"{name}  measuring what was found, in turn", shown)


PAIR = """
from pytest_ansorbench import workloads

class Pair:
    id, flops = "pair", 2

    def tasks(self):
        return workloads.BatchMatmul(batch=1, m=4, n=4, k=4).tasks() * 2

def test_pair(ansor_bench):
    ansor_bench(Pair())
"""

MISSING = """
from pytest_ansorbench import workloads

def test_mine(ansor_bench):
    ansor_bench(workloads.from_onnx("nowhere.onnx"))
"""


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize(
    ("cases", "message"),
    [
        (PAIR, "bad case 'pair': it has 2 tasks, but no program() and arguments()"),
        (MISSING, "bad model file 'nowhere.onnx': there is no such file"),
    ],
)
def test_what_cannot_be_tuned_fails_its_test_in_a_sentence(project, cases, message):
    project.write("test_cases.py", cases)
    outcome = project.bench("--ansor-strategy=random", "--ansor-trials=8")
    assert outcome.code == 1
    assert message in outcome.out
    assert "Traceback" not in outcome.text


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
