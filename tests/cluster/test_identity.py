"""What workers say of themselves, and in what they may not differ."""

from __future__ import annotations

import json

import pytest

from pytest_ansorbench.cluster import pool
from pytest_ansorbench.cluster.pool import difference, identify, requirements
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local import engine
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.storage import machine_difference


def test_a_process_says_what_it_is():
    answer = identify(None)
    assert set(answer) == {"requirements", "target", "machine"}
    assert answer["machine"]["target"] == answer["target"]
    assert answer["requirements"] == requirements(describe_machine())
    assert json.loads(json.dumps(answer)) == answer
    assert difference(answer["requirements"], answer["requirements"]) == ""


def test_a_worker_with_a_gpu_is_like_the_machine_that_a_repeat_was_begun_on(monkeypatch):
    for module in (engine, pool):
        monkeypatch.setattr(module, "describe_gpu", lambda: {"name": "NVIDIA A100"})
    begun_on = engine.LocalEngine(resolve_target("nvidia/nvidia-a100")).machine
    assert machine_difference(begun_on, identify("nvidia/nvidia-a100")["machine"]) == ""


def test_what_cannot_measure_says_why():
    [(key, reason)] = identify("cuda-foo").items()
    assert key == "error" and "expected an LLVM or CUDA target" in reason


@pytest.mark.parametrize("name", ["Python", "apache-tvm", "xgboost", "code of pytest-ansorbench"])
def test_what_differs_is_named(name):
    wanted = requirements(describe_machine())
    assert difference(wanted, {**wanted, name: "other"}) == f"{name} other and not {wanted[name]}"
    assert f"{name} None" in difference(wanted, {})
