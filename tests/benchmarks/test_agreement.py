"""`benchmarks/agreement.py`: searches of a tiny landscape, taken for those of a machine."""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import replace

import pytest

from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.replaying import Plan, replay
from pytest_ansorbench.storage import write_result
from pytest_ansorbench.strategies import Registry

ARMS = ("grid", "genetic", "annealing", "droplet")


@pytest.fixture
def script(import_script):
    return import_script("agreement")


@pytest.fixture
def live(landscape_file, tmp_path):
    """A result as of a session, with an arm that cannot be replayed."""
    found = replay([read_landscape(landscape_file)], [*map(Registry().get, ARMS)], Plan(24, 8, 3))
    [case] = found.cases
    runs = [replace(run, landscape="") for run in case.runs]
    strange = [replace(run, strategy="default") for run in runs if run.strategy == "genetic"]
    case = replace(case, strategies=(*ARMS, "default"), runs=(*runs, *strange), verdicts=())
    path = tmp_path / "live.json.gz"
    write_result(replace(found, cases=(case,)), path)
    return path


def test_the_same_searches_agree(script, live, landscape_file, tmp_path, monkeypatch, capsys):
    shutil.copy(landscape_file, tmp_path / landscape_file.name)
    words = ["agreement.py", str(live), "--landscapes", str(tmp_path), "--repeats", "3"]
    monkeypatch.setattr(sys, "argv", words)
    script.main()
    of_arms, by = capsys.readouterr().out.strip().split("\n\n")
    case, arms = of_arms.split("\n", 1)
    assert case.startswith("matmul") and "default" not in arms
    for line in arms.splitlines()[2:]:
        _, sooner, sooner_there, speed, speed_there = line.split()
        assert (sooner, speed) == (sooner_there, speed_there)
    for line in by.splitlines()[2:]:
        _, both, _, between = line.split()
        assert float(both) == 1.0 and -1.0 <= float(between) <= 1.0


def test_other_cases_are_left_out(script, live, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["agreement.py", str(live), "--landscapes", str(tmp_path)])
    script.main()
    assert capsys.readouterr().out == ""


def test_arms_without_differences_have_no_correlation(script):
    assert math.isnan(script.correlation({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 2.0}, "ab"))
    assert script.correlation({"a": 1.0, "b": 3.0}, {"a": 1.0, "b": 2.0}, "ab") == pytest.approx(
        1.0
    )
