"""Programs that are swept through sessions: each is told in a sentence."""

from __future__ import annotations

import sys

import pytest

from pytest_ansorbench.workloads.networks.relax_names import type_of

PLANTED = """
import os, signal
import pytest
from tests.faults import Doubling

@pytest.mark.parametrize("name", NAMES)
def test_program(ansor_bench, name):
    if name == "dies, once":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "refused":
        pytest.fail("bad case 'x': expected another\\nmore", pytrace=False)
    if name == "breaks":
        {}["x"]
    ansor_bench(Doubling())
"""
DIES_LAST = r"""#!/bin/sh
printf '["%s", "right"]\n' one two >> "$ANSOR_SWEPT_NOTES"
kill -KILL $$
"""


@pytest.mark.slow
def test_each_is_told_whatever_becomes_of_it(import_script, tmp_path, monkeypatch):
    swept = import_script("swept")
    monkeypatch.setenv("PYTHONPATH", str(swept.ROOT))
    names = ["refused", "dies, once", "breaks", "fine"]
    told = swept.swept(tmp_path, PLANTED, names, trials=2, round=2)
    assert told == {
        "refused": "bad case 'x': expected another",
        "dies, once": "the session died of SIGKILL",
        "breaks": "traceback: KeyError: 'x'",
        "fine": swept.TUNED,
    }
    assert swept.counts(told) == "tuned and right: 1 of 4"
    late = swept.swept(tmp_path, PLANTED, ["fine"], trials=2, round=2, **{"build-timeout": 0.001})
    assert late["fine"].startswith("doubling: random has no valid kernel: 2 of 2 trials build-")


def test_a_session_that_dies_behind_its_last_test_keeps_what_it_noted(
    import_script, tmp_path, monkeypatch
):
    swept = import_script("swept")
    session = tmp_path / "session"
    session.write_text(DIES_LAST)
    session.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(session))
    assert swept.swept(tmp_path, "", ["one", "two"]) == {"one": "right", "two": "right"}


def test_the_operators_are_many_and_make_programs(import_script):
    sweep = import_script("operator_sweep")
    assert len(sweep.LAYERS) >= 60
    for name, make in sweep.CASES.items():
        _, _, dtype = name.rpartition(", ")
        main = make().read()["main"]
        assert any(dtype in str(type_of(parameter)) for parameter in main.params)


def test_the_models_come_from_many_exporters(import_script):
    zoo = import_script("model_zoo")
    assert len(zoo.MODELS) >= 20
    assert len({model.exporter for model in zoo.MODELS.values()}) >= 8


def test_a_model_without_its_package_is_skipped_with_a_line(import_script, tmp_path, monkeypatch):
    zoo = import_script("model_zoo")
    monkeypatch.setattr(zoo.importlib.util, "find_spec", lambda name: None)
    assert zoo.written(["magika"], tmp_path) == {"magika": "skipped: No module named 'magika'"}
