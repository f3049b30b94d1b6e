"""Peaks of machines are kept, and measured again if they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ansorbench.storage import StorageError, read_peak, write_peak
from tests.synthetic import PEAK


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_peak(tmp_path / "deep" / "er", "abc", PEAK)
    assert read_peak(tmp_path / "deep" / "er", "abc", "float32") == PEAK
    assert read_peak(tmp_path / "deep" / "er", "abc", "int8") is None
    assert [path.name for path in tmp_path.rglob("*.*")] == ["abc-float32.json"]


def test_there_is_none_of_another_machine_nor_in_a_damaged_file(tmp_path: Path) -> None:
    write_peak(tmp_path, "abc", PEAK)
    assert read_peak(tmp_path, "def", "float32") is None
    for damage in ("", "{}", '{"compute_gflops": "much"}', "[" * 100_000):
        (tmp_path / "peaks" / "abc-float32.json").write_text(damage)
        assert read_peak(tmp_path, "abc", "float32") is None


def test_there_is_none_of_other_cores(tmp_path: Path) -> None:
    write_peak(tmp_path, "abc", PEAK, range(200))
    assert read_peak(tmp_path, "abc", "float32", range(200)) == PEAK
    for others in (None, (0,), range(1, 200)):
        assert read_peak(tmp_path, "abc", "float32", others) is None


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot keep the machine's peak in .*abc-float32"):
        write_peak(tmp_path / "file", "abc", PEAK)
