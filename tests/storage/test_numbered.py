"""Numbered results, also when many save at once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_ansorbench.storage import (
    StorageError,
    find_saved,
    list_saved,
    read_result,
    result_name,
    save_numbered,
    write_result,
)
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
    ("name", "slug"),
    [
        ("main", "main"),
        ("feature/new search", "feature-new-search"),
        ("../../etc/passwd", "etc-passwd"),
        ("v1.2_rc-3", "v1.2_rc-3"),
        ("größer", "größer"),
        ("a\x00b\n", "a-b"),
        ("x" * 300, "x" * 60),
    ],
)
def test_names_become_fit_for_files(tmp_path: Path, name: str, slug: str) -> None:
    path = save_numbered(make_result(), tmp_path, name)
    assert path == tmp_path / f"0001_{slug}.json"


@pytest.mark.parametrize("name", ["", " ", "///", "..", "-_."])
def test_a_name_without_letters_or_digits_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match=r"bad name .*: expected at least a letter or digit"):
        save_numbered(make_result(), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StorageError, match="bad storage folder"):
        save_numbered(make_result(), file, "main")
    with pytest.raises(StorageError, match="bad storage folder"):
        list_saved(file)


def test_a_compressed_result_keeps_its_number_and_name(tmp_path: Path) -> None:
    saved = save_numbered(make_result(), tmp_path, "main")
    packed = tmp_path / "0001_main.json.gz"
    write_result(read_result(saved), packed)
    saved.unlink()
    for wanted in ("newest", "1", "main", str(packed)):
        assert find_saved(tmp_path, wanted) == packed
    assert result_name(packed) == "0001_main"
    assert save_numbered(make_result(), tmp_path, "main").name == "0002_main.json"
    missing = str(tmp_path / "other.json.gz")
    assert find_saved(tmp_path, missing) == Path(missing)


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
    code = (
        "import sys; from pathlib import Path; from tests.synthetic import make_result;"
        "from pytest_ansorbench.storage import save_numbered;"
        "[save_numbered(make_result(), Path(sys.argv[1]), sys.argv[2]) for _ in range(10)]"
    )
    root = Path(__file__).parents[2]
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), f"p{i}"], cwd=root)
        for i in range(3)
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len({name[:4] for name in names(tmp_path)}) == len(names(tmp_path)) == 30
