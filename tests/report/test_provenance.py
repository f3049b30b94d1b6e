"""What a result rests on."""

from __future__ import annotations

import dataclasses

from pytest_ansorbench.report.provenance import provenance
from pytest_ansorbench.report.sections import Code
from tests.report.rendered import lines_of
from tests.synthetic import make_case_result, make_result


def test_the_command_then_settings_machines_and_commit() -> None:
    result = make_result(make_case_result())
    section = provenance(result, "pytest --ansor-bench --ansor-trials 4")
    assert section.blocks[0] == Code("to reproduce", "pytest --ansor-bench --ansor-trials 4", "sh")
    text = "\n".join(lines_of(section))
    [fingerprint] = result.machines
    for words in ("trials", "default, fast", f"machine {fingerprint}", "unversioned"):
        assert words in text


def test_what_is_nested_is_told_by_its_path() -> None:
    machine = {"cpu": "made up", "packages": {"numpy": "2.0", "xgboost": "3.0"}}
    result = make_result(make_case_result())
    result = dataclasses.replace(result, machines={**result.machines, "abc": machine})
    rows = [line.split("  ") for line in lines_of(provenance(result, "x"))]
    assert ["packages, numpy", "2.0"] in [[*filter(None, row)] for row in rows]
