"""How much the caches hold, as Linux describes them."""

from __future__ import annotations

from pathlib import Path

from pytest_ansorbench.measure.local.cache_sizes import caches_bytes


def describe(cpus: Path, *caches: tuple[int, int, str, str, str, str]) -> None:
    for core, index, *values in caches:
        folder = cpus / f"cpu{core}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
            (folder / name).write_text(f"{value}\n")


def test_levels_add_up_and_what_cores_share_counts_once(tmp_path: Path) -> None:
    describe(
        tmp_path,
        (0, 0, "1", "Data", "48K", "0"),
        (0, 1, "1", "Instruction", "32K", "0"),
        (0, 3, "3", "Unified", "32M", "0-1"),
        (1, 0, "1", "Data", "48K", "1"),
        (1, 3, "3", "Unified", "32M", "0-1"),
    )
    assert caches_bytes(tmp_path) == {"L1": 2 * 48 * 1024, "L3": 32 * 1024**2}


def test_without_a_description_nothing_is_said(tmp_path: Path) -> None:
    assert caches_bytes(tmp_path) is None
    describe(tmp_path, (0, 0, "1", "Data", "much", "0"))
    assert caches_bytes(tmp_path) is None
