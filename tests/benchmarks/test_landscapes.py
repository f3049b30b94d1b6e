"""`benchmarks/landscapes.py`, with nothing measured."""

from __future__ import annotations

import sys

from pytest_ansorbench import workloads


def test_six_families_are_recorded_and_checked(import_script, tmp_path, monkeypatch):
    script = import_script("landscapes")
    assert len({type(workloads.get(case)) for case in script.CASES}) == 6
    given = []
    monkeypatch.setattr(script, "keep_peak", lambda: None)
    monkeypatch.setattr(script, "ansor_bench", lambda words: given.append(words) or 0)
    monkeypatch.setattr(sys, "argv", ["landscapes.py", "--into", str(tmp_path), "--points", "9"])
    (tmp_path / "x.json.gz").touch()
    assert script.main() == 0
    record, check = given
    assert record[:2] == ["landscape", "record"] and {*script.CASES} < {*record}
    assert check == ["landscape", "check", "--programs", str(tmp_path / "x.json.gz")]
