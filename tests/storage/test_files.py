"""Result files, whole and broken in every way."""

from __future__ import annotations

import dataclasses
import gc
import gzip
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.codec import to_json
from pytest_ansorbench.records import OLDEST_SCHEMA_VERSION, SCHEMA_VERSION, RecordError
from pytest_ansorbench.storage import (
    CutShortError,
    MissingResultError,
    StorageError,
    check_output,
    newest,
    read_result,
    readable,
    write_result,
)
from pytest_ansorbench.storage.files import write_text, written
from tests.disks import read_only
from tests.synthetic import make_case_result, make_noise, make_result, make_run


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    write_result(make_result(), path)
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    result = make_result(make_case_result("a"), make_case_result('ünï|"\n'))
    write_result(result, tmp_path / "result.json")
    assert read_result(tmp_path / "result.json") == result


def test_an_empty_result_is_one_too(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({**to_json(make_result()), "cases": []}))
    empty = read_result(path)
    assert empty.cases == ()
    write_result(empty, path)
    assert read_result(path) == empty


def test_the_file_is_strict_json_with_one_case_a_line(tmp_path: Path) -> None:
    result = make_result(make_case_result("a"), make_case_result("b"))
    path = tmp_path / "result.json"
    write_result(result, path)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=pytest.fail) == to_json(result)
    assert len(text.splitlines()) == 4


def test_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "newer" / "result.json"
    write_result(make_result(), path)
    assert read_result(path) == make_result()


def test_permissions_follow_the_umask(saved: Path) -> None:
    umask = os.umask(0o022)
    os.umask(umask)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o666 & ~umask


def test_nothing_else_is_left_in_the_folder(saved: Path) -> None:
    assert list(saved.parent.iterdir()) == [saved]


def test_a_failed_write_leaves_the_old_file_alone(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        write_result(make_result(make_case_result("other")), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_result_that_is_no_json_leaves_the_old_file_alone(saved: Path) -> None:
    before = saved.read_bytes()
    broken = make_case_result(reference=[make_run(decisions={"score": object()})], challengers={})
    with pytest.raises(RecordError, match="score"):
        write_result(make_result(broken), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_an_interrupt_leaves_no_litter(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(source: object, target: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_result(make_result(), saved)
    assert list(saved.parent.iterdir()) == [saved]


def test_a_link_stays_one(tmp_path: Path, saved: Path) -> None:
    link = tmp_path / "latest.json"
    link.symlink_to(saved)
    other = make_result(make_case_result("other"))
    write_result(other, link)
    assert link.is_symlink()
    assert read_result(saved) == read_result(link) == other


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    with pytest.raises(StorageError, match="bad result file"):
        write_result(make_result(), loop)
    with pytest.raises(StorageError, match="bad result file"):
        read_result(loop)


def test_folders_are_neither_written_nor_read(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="bad result file"):
        write_result(make_result(), tmp_path)
    with pytest.raises(StorageError, match="bad result file"):
        read_result(tmp_path)


def test_a_file_that_is_open_already_is_written_in_place(tmp_path: Path) -> None:
    with (tmp_path / "redirected").open("wb") as stream:
        write_result(make_result(), Path(f"/dev/fd/{stream.fileno()}"))
        found = os.fstat(stream.fileno())
    assert found.st_nlink == 1 and found.st_size > 0


def test_pipes_are_written_in_place_and_not_read() -> None:
    reading, writing = os.pipe()
    try:
        pipe = Path(f"/dev/fd/{writing}")  # a link, to a name that no file has
        check_output("output", pipe, [])
        write_text(pipe, ["words"])
        assert os.read(reading, 9) == b"words"
        with pytest.raises(MissingResultError, match="bad result file"):
            read_result(Path(f"/dev/fd/{reading}"))
    finally:
        os.close(reading)
        os.close(writing)


def test_a_file_in_place_of_the_folder(saved: Path) -> None:
    with pytest.raises(StorageError, match="check the folder's permissions"):
        write_result(make_result(), saved / "result.json")


def write_words(path: Path) -> None:
    with written(path) as stream:
        stream.write(b"words")


def fails(write: Callable[[], object]) -> bool:
    try:
        write()
    except (OSError, StorageError):
        return True
    return False


@pytest.mark.parametrize(
    "write", [lambda path: write_result(make_result(), path), write_words], ids=["result", "words"]
)
@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("new/more/new.json", True),
        ("there.json", True),
        ("link.json", True),
        ("dangling.json", True),
        ("/dev/null", True),
        (".", False),
        ("there.json/new.json", False),
        ("loop.json", False),
        ("loop.json/new.json", False),
        ("closed/there.json", False),
        ("closed/new/new.json", False),
        ("link-closed.json", False),
    ],
)
def test_it_is_known_beforehand_whether_a_place_can_be_written(
    tmp_path: Path, write: Callable[[Path], object], name: str, possible: bool
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    for file in (tmp_path / "there.json", closed / "there.json"):
        file.touch()
    (tmp_path / "there.json").chmod(0o444)  # which does not keep it from being replaced
    for link, target in (
        ("link.json", "there.json"),
        ("dangling.json", "missing/new.json"),
        ("loop.json", "loop.json"),
        ("link-closed.json", "closed/there.json"),
    ):
        (tmp_path / link).symlink_to(target)
    with read_only(closed):
        if "closed" in name and os.access(closed, os.W_OK):
            pytest.skip("takes another user than root")
        assert fails(lambda: check_output("output", tmp_path / name, [])) is not possible
        assert fails(lambda: write(tmp_path / name)) is not possible


def test_the_noise_of_a_machine_is_kept(tmp_path: Path) -> None:
    result = dataclasses.replace(make_result(), noise=(make_noise(scatter=0.1), make_noise("end")))
    write_result(result, tmp_path / "result.json")
    assert read_result(tmp_path / "result.json") == result


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("slice_s", 0.0, "seconds from"),
        ("elapsed_s", -1.0, "seconds from"),
        ("latencies_s", [1.0, 0.0], "all from"),
        ("latencies_s", [1.0, 1e300], "all from"),
        ("latencies_s", [1.0], "a process for every slice"),
        ("processes", [0, 2], "0 and 1 in every two"),
        ("processes", [0, 0], "0 and 1 in every two"),
        ("processes", [0], "a process for every slice"),
        ("processes", [True, False], "a whole number"),
    ],
)
def test_noise_that_cannot_be_is_refused(
    tmp_path: Path, field: str, value: object, expected: str
) -> None:
    path = tmp_path / "result.json"
    data = to_json(dataclasses.replace(make_result(), noise=(make_noise(slices=2),)))
    data["noise"][0]["trace"][field] = value
    path.write_text(json.dumps(data))
    with pytest.raises(StorageError, match=rf"noise\[0\]\.trace\..*{expected}"):
        read_result(path)


def test_noise_of_an_unknown_machine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    data = to_json(dataclasses.replace(make_result(), noise=(make_noise(),)))
    data["noise"][0]["machine"] = "elsewhere"
    path.write_text(json.dumps(data))
    with pytest.raises(StorageError, match=r"noise\[0\]\.machine 'elsewhere'"):
        read_result(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingResultError, match=r"missing\.json': expected an existing file"):
        read_result(tmp_path / "missing.json")


def test_an_unreadable_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*arguments: object, **options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(StorageError, match=r"Permission denied.*check its permissions"):
        read_result(saved)


def test_every_truncation_is_refused(saved: Path) -> None:
    content = saved.read_bytes().rstrip()
    for length in range(0, len(content), 97):
        saved.write_bytes(content[:length])
        with pytest.raises(StorageError, match=r"result\.json': expected JSON"):
            read_result(saved)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x81",
        b"\x89PNG\r\n",
        b"not json",
        b'{"schema_version": NaN}',
        b"[" * 1_000_000,
        b"1" * 10_000,
        b"\x80\x04K\x01.",
    ],
    ids=["empty", "bytes", "png", "words", "nan", "deep", "long number", "pickle"],
)
def test_what_is_no_json_is_refused(saved: Path, content: bytes) -> None:
    saved.write_bytes(content)
    with pytest.raises(StorageError, match=r"result\.json': expected"):
        read_result(saved)


@pytest.mark.parametrize(
    "content",
    ["[]", "null", "1", '"x"', "{}", '{"benchmarks": [], "version": "5.0"}']
    + [f'{{"schema_version": {v}}}' for v in ("true", "1.0", '"1"', "null", "[]")],
)
def test_json_of_another_tool_is_refused(saved: Path, content: str) -> None:
    saved.write_text(content)
    with pytest.raises(StorageError, match=r"expected a result of pytest-ansorbench"):
        read_result(saved)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda content: b"", "expected JSON, got an empty file"),
        (lambda content: bytes(4096), "expected JSON, got NUL bytes alone"),
        (lambda content: content[:5], "expected JSON"),
        (lambda content: content[: len(content) // 2] + b",", "expected JSON"),
        (lambda content: gzip.compress(content)[:-20], "expected JSON"),
    ],
    ids=["empty", "NUL", "a few bytes", "half", "compressed"],
)
def test_what_a_power_cut_leaves_is_told_from_what_was_changed(
    saved: Path, damage: Callable[[bytes], bytes], what: str
) -> None:
    content = saved.read_bytes()
    saved.write_bytes(damage(content))
    with pytest.raises(CutShortError, match=what):
        read_result(saved)
    for changed in (b"PNG" + content, content.replace(b":", b";", 1), b"[1, 2]"):
        saved.write_bytes(changed)
        with pytest.raises(StorageError) as caught:
            read_result(saved)
        assert not isinstance(caught.value, CutShortError)


def test_reading_goes_past_what_cannot_be_read(tmp_path: Path, saved: Path) -> None:
    (tmp_path / "folder").mkdir()
    bad = [tmp_path / "folder", tmp_path / "missing", tmp_path / "empty"]
    bad[-1].touch()
    told: dict[Path, StorageError] = {}
    paths = [bad[0], saved, *bad[1:], saved]
    found = [*readable(paths, read_result, told.__setitem__)]
    assert found == [(saved, read_result(saved))] * 2
    assert [*told] == bad
    assert newest(paths[:-1], read_result, told.__setitem__) == found[0]
    with pytest.raises(StorageError, match="folder': expected an existing file"):
        newest(bad, read_result, told.__setitem__)


@pytest.mark.parametrize("version", [-1, 0, 1, OLDEST_SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_another_version_is_refused_by_its_number(saved: Path, version: int) -> None:
    change(saved, lambda v: v.update(schema_version=version, novelty=True))
    known = f"{OLDEST_SCHEMA_VERSION} to {SCHEMA_VERSION}"
    with pytest.raises(StorageError, match=rf"version {version} is not {known}, which this"):
        read_result(saved)


def test_a_file_of_the_version_without_definitions_is_read(saved: Path) -> None:
    def older(values: dict[str, Any]) -> None:
        values["schema_version"] = 12
        for case in values["cases"]:
            assert case.pop("definition") is None

    whole = read_result(saved)
    change(saved, older)
    assert read_result(saved) == whole


def test_a_name_that_ends_in_gz_is_compressed_and_read_by_any_name(tmp_path: Path) -> None:
    plain, packed = tmp_path / "result.json", tmp_path / "result.json.gz"
    write_result(make_result(), plain)
    write_result(make_result(), packed)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert read_result(packed) == make_result()
    plain.write_bytes(packed.read_bytes())
    assert read_result(plain) == make_result()
    assert sorted(tmp_path.iterdir()) == [plain, packed]


def test_the_same_result_gives_the_same_compressed_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json.gz", tmp_path / "other.json.gz"
    write_result(make_result(), one)
    write_result(make_result(), other)
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes()[4:8] == bytes(4)  # where the format has the time of day


def test_what_unpacks_without_measure_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    path = tmp_path / "result.json.gz"
    path.write_bytes(gzip.compress(b" " * (65 << 20), 1))
    with pytest.raises(StorageError, match=r"result\.json\.gz'.*more than 100 times what is"):
        read_result(path)


def test_a_damaged_compressed_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json.gz"
    write_result(make_result(), path)
    content = path.read_bytes()
    for damage in (content[:-20], content[:2], content[:40] + b"x" + content[41:]):
        path.write_bytes(damage)
        with pytest.raises(StorageError, match=r"result\.json\.gz': expected JSON"):
            read_result(path)


FAULTS: list[tuple[Callable[[Any], object], str]] = [
    (lambda v: v.pop("created"), r"expected the field 'created'"),
    (lambda v: run(v).update(seed="x"), r"bad cases\[0\].runs\[0\].seed 'x'"),
    (lambda v: run(v).update(case="y"), r"bad cases\[0\].runs\[0\].case 'y'"),
    (lambda v: run(v).update(strategy="y"), r"bad cases\[0\].runs\[0\].strategy 'y'"),
    (lambda v: first_trial(v, latencies_s=[]), r"trials\[0\].latencies_s \(\): expected at least"),
    (lambda v: first_trial(v, latencies_s=[0]), r"trials\[0\].latencies_s \(0.0,\): expected"),
    (lambda v: first_trial(v, latencies_s=[-1, 1]), r"trials\[0\].latencies_s"),
    (lambda v: first_trial(v, latencies_s=["inf"]), r"trials\[0\].latencies_s"),
    (lambda v: first_trial(v, status="run-error"), r"expected no samples for status 'run-error'"),
    (lambda v: run(v)["final"].update(latencies_s=[]), r"runs\[0\].final.latencies_s"),
    (lambda v: final(v, sets=[0, 0]), r"final.sets \(0, 0\): expected none, or as many .* 3"),
    (lambda v: final(v, sets=[0] * 4), r"final.sets .* as many as there are latencies, 3"),
    (lambda v: final(v, sets=[1, 1, 2]), r"final.sets .* expected sets in order, counted from 0"),
    (lambda v: final(v, sets=[-1, 0, 1]), r"final.sets .* expected sets in order"),
    (lambda v: final(v, sets=[0, 1, 0]), r"final.sets .* expected sets in order"),
    (lambda v: final(v, sets=[0, 0, "1"]), r"final.sets\[2\] '1': expected a whole number"),
    (lambda v: final(v, sets=None), r"final.sets None: expected"),
    (lambda v: final(v, places=[0, 1]), r"final.places \(0, 1\): expected none, or as many .* 3"),
    (lambda v: final(v, places=[0, 2, 2]), r"final.places .* different places in ascending order"),
    (lambda v: final(v, places=[3, 2, 1]), r"final.places .* different places in ascending order"),
    (lambda v: final(v, places=[-1, 0, 1]), r"final.places .* ascending order, from 0"),
    (
        lambda v: final(v, status="run-error", latencies_s=[]),
        r"final.sets \(0, 0, 1\): expected none, or as many .* 0",
    ),
    (lambda v: lead(v, latencies_s=[]), r"leads\[0\].latencies_s \(\): expected at least"),
    (lambda v: lead(v, sets=[1]), r"leads\[0\].sets \(1,\): expected sets in order"),
    (lambda v: lead(v, trial=None), r"leads\[0\].trial None: expected one of the run's 4 trials"),
    (lambda v: lead(v, trial=4), r"leads\[0\].trial 4: expected one of the run's 4 trials"),
    (lambda v: lead(v, trial=-1), r"leads\[0\].trial -1: expected one of the run's 4 trials"),
    (lambda v: ranking(v, check_s=-1), r"last_check.check_s -1.0: expected seconds from 0"),
    (lambda v: ranking(v, task=1), r"last_check.tasks\[0\].task 1: expected one of the run's 1"),
    (lambda v: ranking(v, crowned=4), r"tasks\[0\].crowned 4: expected one of the run's 4 trials"),
    (lambda v: ranking(v, latencies_s=[]), r"compared\[0\].latencies_s \(\): expected at least"),
    (lambda v: run(v).update(leads_s=-1), r"leads_s -1.0: expected seconds from 0"),
    (lambda v: run(v).update(tasks=[]), r"runs\[0\].tasks \(\): expected at least one task"),
    (lambda v: run(v)["tasks"][0].update(weight=0), r"tasks\[0\].weight 0: expected from 1"),
    (lambda v: run(v)["rounds"][0].update(task=1), r"rounds\[0\].task 1: expected one of"),
    (lambda v: run(v)["rounds"][0].update(task=-1), r"rounds\[0\].task -1: expected one of"),
    (lambda v: two_tasks(v, round=99), r"trials\[0\].round 99: expected one of the run's"),
    (lambda v: first_trial(v, round=99), r"trials\[0\].round 99: expected one of the run's 2"),
    (lambda v: first_trial(v, round=0), r"trials\[0\].round 0: expected one of the run's 2"),
    (lambda v: first_trial(v, index=1), r"trials\[0\].index 1: expected its place, from 0"),
    (lambda v: run(v)["tasks"][0].update(flops=10**400), r"tasks\[0\].flops .*: expected from 0"),
    (lambda v: v["cases"][0].update(strategies=[]), r"strategies \(\): expected at least one"),
    (lambda v: v["machines"].update(x=1), r"bad machines.x 1: expected an object"),
    (
        lambda v: v.update(shards={"count": 10**12, "there": [1], "cases": []}),
        r"bad shards.count 1000000000000: expected from 1 to 999999",
    ),
    (lambda v: v["cases"][0].update(strategies=["default"] * 2), r"bad cases\[0\].strategies"),
    (lambda v: v["cases"][0].update(control="slow"), r"bad cases\[0\].control 'slow'"),
    (
        lambda v: v["cases"][0]["runs"][0].update(machine="other"),
        r"bad cases\[0\].runs\[0\].machine 'other'",
    ),
    (lambda v: run(v)["trials"]["index"].pop(), r"trials.index .*: expected a list as long as"),
    (lambda v: run(v)["trials"].pop("round"), r"trials .*: expected an object with the lists"),
    (lambda v: run(v)["trials"].update(extra=[]), r"trials .*: expected an object with the lists"),
    (lambda v: first_trial(v, search_s="soon"), r"trials.search_s\[0\] 'soon': expected a finite"),
    (lambda v: first_trial(v, index=True), r"trials.index\[0\] True: expected a whole number"),
    (lambda v: first_trial(v, latencies_s=["x"]), r"trials.latencies_s\[0\]\[0\] 'x'"),
    (
        lambda v: v["cases"][0].update(strategies=["fast", "default"]),
        r"verdicts\[0\].comparison.challenger.strategy 'fast'",
    ),
]


def run(values: Any) -> Any:
    return values["cases"][0]["runs"][0]


def final(values: Any, **fields: Any) -> None:
    """The winner of the first run, measured in three slices of two sets, with a fault."""
    slices = {"latencies_s": [1.0, 1.0, 1.0], "sets": [0, 0, 1], "places": [0, 3, 4]}
    run(values)["final"].update({**slices, **fields})


def ranking(values, *, check_s=1.0, task=0, crowned=0, latencies_s=(1.0,)):
    compared = {"trial": 0, "status": "ok", "error": "", "sets": [0], "places": [0]}
    compared["latencies_s"] = list(latencies_s)
    checked = {"task": task, "compared": [compared], "crowned": crowned}
    run(values)["last_check"] = {"check_s": check_s, "tasks": [checked]}


def lead(values: Any, **fields: Any) -> None:
    """A lead of the first run, measured in one slice, with a fault."""
    slices = {"status": "ok", "latencies_s": [1.0], "sets": [0], "places": [0]}
    run(values)["leads"] = [{"trial": 0, "error": "", **slices, **fields}]


def first_trial(values: Any, **fields: Any) -> None:
    for name, value in fields.items():
        run(values)["trials"][name][0] = value


def two_tasks(values: Any, **fields: Any) -> None:
    run(values)["tasks"] *= 2
    first_trial(values, **fields)


def change(path: Path, by: Callable[[Any], object]) -> None:
    values = json.loads(path.read_text(encoding="utf-8"))
    by(values)
    path.write_text(json.dumps(values), encoding="utf-8")


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_values_that_do_not_fit_are_named_with_file_and_cure(
    saved: Path, fault: Callable[[Any], object], message: str
) -> None:
    change(saved, fault)
    with pytest.raises(StorageError, match=message) as caught:
        read_result(saved)
    assert "result.json" in str(caught.value)
    assert "restore it, or measure again" in str(caught.value)


def test_slices_are_read_as_they_were_written(saved: Path) -> None:
    change(saved, final)
    result = read_result(saved)
    measured = result.cases[0].runs[0].final
    assert measured is not None
    assert (measured.sets, measured.places) == ((0, 0, 1), (0, 3, 4))
    write_result(result, saved)
    assert read_result(saved) == result


def test_garbage_collection_is_as_before(saved: Path) -> None:
    assert gc.isenabled()
    read_result(saved)
    saved.write_text("broken")
    with pytest.raises(StorageError):
        read_result(saved)
    assert gc.isenabled()
    gc.disable()
    try:
        write_result(make_result(), saved)
        read_result(saved)
        assert not gc.isenabled()
    finally:
        gc.enable()
