"""Ids of any characters in what pytest shows and writes, on a terminal of ASCII alone."""

from __future__ import annotations

from xml.etree import ElementTree

from pytest_ansorbench.storage import write_result
from tests.saved_cases import Saved, result_of

CASES = """
import pytest
from tests.plugin.test_odd_ids import IDS
from tests.saved_cases import Saved

@pytest.mark.parametrize("place, case", [*enumerate(map(Saved, IDS))])
def test_case(ansor_bench, place, case):
    ansor_bench(case)
"""
IDS = ["größe", "two\nlines", "\x1b[31mred", "a,b", "<b>", "\x00\ud800", "卷|积"]


def test_nothing_dies_of_them_and_nothing_obeys_them(project):
    project.write("conftest.py", "")
    project.write("test_cases.py", CASES)
    write_result(result_of([Saved(name) for name in IDS]), project.root / "saved.json")
    outcome = project.bench_apart(
        *("--ansor-replay=saved.json", "--junit-xml=junit.xml", "--ansor-report=markdown"),
        *("--ansor-max-early-search-ratio=0.1", "--ansor-strict"),
        **{"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    assert outcome.code == 1, outcome.text
    assert f"{len(IDS)} failed" in outcome.out
    assert "INTERNALERROR" not in outcome.text and "UnicodeEncodeError" not in outcome.text
    assert "\x1b" not in outcome.text and "\x00" not in outcome.text
    assert "gr\\xf6\\xdfe, fast against default: " in outcome.out
    assert "two lines, fast against default: " in outcome.out
    assert "| gr\\xf6\\xdfe" in outcome.out
    cases = ElementTree.parse(project.root / "junit.xml").findall(".//testcase")
    assert len(cases) == len(IDS)
    names = {one.get("name") for one in cases[0].iter("property")}
    assert "ansor_fast_verdict" in names
