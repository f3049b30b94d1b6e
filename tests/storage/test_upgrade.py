"""Results of older versions are read; what they lack is marked as not recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_ansorbench.records import SCHEMA_VERSION
from pytest_ansorbench.storage import StorageError, read_result, write_result
from tests.synthetic import make_case_result, make_result


def as_version_1(path: Path) -> None:
    """Take away what version 2 added."""
    data = json.loads(path.read_text())
    data["schema_version"] = 1
    for case in data["cases"]:
        for run in case["runs"]:
            del run["before"], run["after"]
            for trial in run["trials"]:
                del trial["build_s"], trial["run_s"], trial["peak_memory_mb"]
            for each in run["rounds"]:
                del each["restarts"]
    path.write_text(json.dumps(data))


@pytest.fixture
def result():
    return make_result(make_case_result())


def test_version_1_is_read_as_the_same_without_what_it_lacks(result, tmp_path):
    path = tmp_path / "old.json"
    write_result(result, path)
    as_version_1(path)
    assert read_result(path) == result  # made-up runs record none of it either
    assert read_result(path).schema_version == SCHEMA_VERSION


@pytest.mark.parametrize("cases", [None, 3, [3], [{"runs": 3}], [{"runs": [{"trials": [3]}]}]])
def test_a_broken_old_result_is_refused_as_any_other(result, tmp_path, cases):
    path = tmp_path / "old.json"
    write_result(result, path)
    data = json.loads(path.read_text())
    data.update(schema_version=1, cases=cases)
    path.write_text(json.dumps(data))
    with pytest.raises(StorageError, match="bad result file"):
        read_result(path)
