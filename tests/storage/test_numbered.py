"""Numbered results, also when many save at once."""

from __future__ import annotations

import os
import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_ansorbench.storage import (
    StorageError,
    find_saved,
    list_saved,
    read_result,
    read_saved,
    result_name,
    save_numbered,
    write_result,
)
from pytest_ansorbench.storage.numbered import stored_name
from tests.storage.saving import saving
from tests.synthetic import make_result


def names(folder: Path) -> list[str]:
    return [path.name for path in list_saved(folder)]


def test_numbers_count_up_whatever_the_name(tmp_path: Path) -> None:
    folder = tmp_path / ".ansor_bench"
    for name in ("main", "pr", "main"):
        save_numbered(make_result(), folder, name)
    assert names(folder) == ["0001_main.json", "0002_pr.json", "0003_main.json"]
    assert read_result(folder / "0003_main.json") == make_result()
    assert {path.name for path in folder.iterdir()} == set(names(folder))


def test_the_next_number_follows_the_last_and_fills_no_gaps(tmp_path: Path) -> None:
    (tmp_path / "0041_x.json").touch()
    assert save_numbered(make_result(), tmp_path, "y").name == "0042_y.json"


def test_numbers_beyond_four_digits_stay_in_order(tmp_path: Path) -> None:
    (tmp_path / "9999_x.json").touch()
    save_numbered(make_result(), tmp_path, "y")
    assert names(tmp_path) == ["9999_x.json", "10000_y.json"]


def test_other_files_do_not_count(tmp_path: Path) -> None:
    for name in ("0007_x.txt", "007_x.json", "x.json", "0008_.json", ".0009.reserved"):
        (tmp_path / name).touch()
    assert save_numbered(make_result(), tmp_path, "y").name == "0001_y.json"


def test_a_reservation_left_behind_costs_its_number(tmp_path: Path) -> None:
    (tmp_path / ".0001.reserved").touch()
    assert save_numbered(make_result(), tmp_path, "y").name == "0002_y.json"


def test_a_folder_in_place_of_a_file_takes_its_number(tmp_path: Path) -> None:
    (tmp_path / "0001_y.json").mkdir()
    assert save_numbered(make_result(), tmp_path, "y").name == "0002_y.json"


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("main", "main"),
        (" main ", "main"),
        ("v1.2_rc-3", "v1.2_rc-3"),
        ("größer", "größer"),
        ("gro\u0308ßer", "größer"),
        ("2024", "2024"),
        ("feature/new search", "feature-new-search~"),
        ("../../etc/passwd", "etc-passwd~"),
        ("a\x00b\n", "a-b~"),
        ("-x", "x~"),
        ("///", "~"),
        ("x" * 300, "x" * 56 + "~"),
    ],
)
def test_names_become_fit_for_files_and_are_found_again(
    tmp_path: Path, name: str, stored: str
) -> None:
    save_numbered(make_result(), tmp_path, "other")
    path = save_numbered(make_result(), tmp_path, name)
    assert path.name.startswith(f"0002_{stored}")
    digits = path.name.removeprefix(f"0002_{stored}").removesuffix(".json")
    assert re.fullmatch("[0-9a-f]{8}" if stored.endswith("~") else "", digits)
    save_numbered(make_result(), tmp_path, "another")
    for wanted in (name, "2", "0002", result_name(path), result_name(path)[5:], str(path)):
        assert find_saved(tmp_path, wanted) == (path,)


NAMES = st.text(min_size=1).filter(lambda name: name.strip() not in ("", "newest"))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        NAMES, min_size=1, max_size=4, unique_by=lambda n: unicodedata.normalize("NFC", n.strip())
    )
)
@example(["feature/x", "feature-x", "feature x", "x"])
@example(["1", "2", "0001", "0004"])
def test_any_name_is_found_again_under_the_same_words_and_no_others(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("stored")
    for number, name in enumerate(names, start=1):
        (folder / f"{number:04}_{stored_name(name)}.json").touch(exist_ok=False)
    assert len(list_saved(folder)) == len(names)
    for number, name in enumerate(names, start=1):
        [found] = find_saved(folder, name)
        assert found.name.startswith(f"{number:04}_")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
def test_any_words_are_a_saved_result_or_refused(tmp_path: Path, wanted: str) -> None:
    (tmp_path / "0001_main.json").touch()
    try:
        assert find_saved(tmp_path, wanted)
    except StorageError as error:
        assert str(error).startswith("bad result ")


@pytest.mark.parametrize("name", ["", " ", "newest", " newest\n"])
def test_a_name_that_stands_for_something_else_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match=r"bad name .*: expected some words other than 'newest'"):
        save_numbered(make_result(), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_the_newest_that_can_be_read_is_read_and_others_are_told(tmp_path: Path) -> None:
    good = save_numbered(make_result(), tmp_path, "main")
    cut = save_numbered(make_result(), tmp_path, "main")
    cut.write_bytes(cut.read_bytes()[:-10])
    (tmp_path / "0003_other.json").write_text("[1, 2]")
    told: dict[Path, StorageError] = {}
    assert read_saved(tmp_path, "main", told.__setitem__) == (good, make_result())
    assert [*told] == [cut]
    assert read_saved(tmp_path, "newest", told.__setitem__)[0] == good
    assert [*told] == [cut, tmp_path / "0003_other.json"]
    assert "written by another tool" in str(told[tmp_path / "0003_other.json"])
    for wanted in ("2", "other", str(cut)):
        with pytest.raises(StorageError, match="bad result file"):
            read_saved(tmp_path, wanted, told.__setitem__)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StorageError, match="bad storage folder"):
        save_numbered(make_result(), file, "main")
    with pytest.raises(StorageError, match=r"bad storage folder .* cannot be read, Not a direc"):
        list_saved(file)


def test_a_compressed_result_keeps_its_number_and_name(tmp_path: Path) -> None:
    saved = save_numbered(make_result(), tmp_path, "main")
    packed = tmp_path / "0001_main.json.gz"
    write_result(read_result(saved), packed)
    saved.unlink()
    for wanted in ("newest", "1", "main", str(packed)):
        assert find_saved(tmp_path, wanted) == (packed,)
    assert result_name(packed) == "0001_main"
    assert save_numbered(make_result(), tmp_path, "main").name == "0002_main.json"
    missing = str(tmp_path / "other.json.gz")
    assert find_saved(tmp_path, missing) == (Path(missing),)


def test_no_folder_holds_no_results(tmp_path: Path) -> None:
    assert list_saved(tmp_path / "missing") == ()


def test_threads_never_share_a_number(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        paths = list(
            pool.map(lambda i: save_numbered(make_result(), tmp_path, f"t{i % 3}"), range(40))
        )
    assert len({path.name[:4] for path in paths}) == 40
    assert set(list_saved(tmp_path)) == set(paths)
    assert all(read_result(path) == make_result() for path in paths)


def test_processes_never_share_a_number(tmp_path: Path) -> None:
    start, end = os.pipe()
    processes = [saving(tmp_path, f"p{i}", start) for i in range(2)]
    for descriptor in (start, end):
        os.close(descriptor)
    for process in processes:
        process.wait()
    assert len({name[:4] for name in names(tmp_path)}) == len(names(tmp_path)) == 20
