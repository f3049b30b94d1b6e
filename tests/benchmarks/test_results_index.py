"""The index of docs/results: made of a manifest that says what is in the folder."""

from __future__ import annotations

import gzip
import json
import re
import shlex

import pytest

from tests.benchmarks.conftest import BENCHMARKS
from tests.pages import blocks

MEGABYTE = 10**6


@pytest.fixture
def results_index(import_script):
    return import_script("results_index")


def test_index_manifest_and_folder_agree(results_index):
    listed = results_index.entries()
    assert list(results_index.disagreements(listed)) == []
    assert results_index.INDEX.read_text(encoding="utf-8") == results_index.index(listed)


def test_what_is_not_listed_and_what_is_not_there_are_named(results_index, tmp_path, monkeypatch):
    results = tmp_path / "docs" / "results"
    results.mkdir(parents=True)
    for name in ("MANIFEST", "INDEX"):
        monkeypatch.setattr(results_index, name, results / getattr(results_index, name).name)
    monkeypatch.setattr(results_index, "ROOT", tmp_path)
    monkeypatch.setattr(results_index, "RESULTS", results)
    (results / "stray.txt").touch()
    entry = results_index.Entry(("gone.txt",), "", (), "docs/none.md", "", "")
    assert list(results_index.disagreements([entry])) == [
        "docs/results/stray.txt is not in the manifest",
        "gone.txt is in the manifest and not there",
        "the page of gone.txt, docs/none.md, is not there",
    ]


def test_runs_are_as_many_as_are_told(results_index):
    told = [entry for entry in results_index.entries() if re.search(r"\d+ runs", entry.shows)]
    assert len(told) >= 4
    for entry in told:
        [path], [command] = entry.paths(), entry.command
        [case] = json.loads(gzip.decompress(path.read_bytes()))["cases"]
        runs = len(case["runs"])
        assert f"{runs} runs" in entry.shows, path
        assert f"--ansor-repeats {runs // 2} " in command, path


def test_its_lines_fit_a_screen(results_index):
    page = results_index.index(results_index.entries())
    assert max(map(len, page.splitlines())) <= results_index.WIDTH == 120


def test_a_command_that_is_copied_has_the_words_of_the_manifest(results_index):
    listed = results_index.entries()
    for entry, block in zip(listed, blocks(results_index.index(listed), "sh"), strict=True):
        copied = [word for word in shlex.split(block) if word != "\n"]  # where a line is continued
        assert copied == [word for command in entry.command for word in shlex.split(command)]


def entry_of(results_index, name):
    """The entry of a file, and its text."""
    [entry] = [one for one in results_index.entries() if one.files == (name,)]
    return entry, (results_index.RESULTS / name).read_text(encoding="utf-8")


def ids(words):
    """Those words that are ids of cases."""
    return {word for word in words if re.fullmatch(r"\w[\w-]*-\w*\d", word)}


@pytest.mark.parametrize(
    "name",
    [
        "draft-ablations.txt",
        "draft-networks-in-place.txt",
        "draft-networks-lonely.txt",
        "networks.txt",
    ],
)
def test_cases_are_those_that_the_commands_name(results_index, name):
    entry, text = entry_of(results_index, name)
    rows = re.findall(r"^\S+(?= )", text, re.MULTILINE)
    assert ids(rows) == ids(re.split(r"[\s,=]", "\n".join(entry.command))) != set()


def test_seeds_are_as_many_as_the_command_says(results_index):
    entry, text = entry_of(results_index, "network_caches.txt")
    seeds = {line.split()[1] for line in text.splitlines()[2:]}
    assert entry.command == (f"python benchmarks/network_caches.py --seeds {len(seeds)}",)


def test_a_command_finds_the_plugin_of_the_benchmarks_that_it_names(results_index):
    found = [
        command
        for entry in results_index.entries()
        for command in entry.command
        for name in re.findall(r" -p (\w+) ", command)
        if (BENCHMARKS / f"{name}.py").is_file()
    ]
    assert found
    assert all(command.startswith("PYTHONPATH=benchmarks ") for command in found)


def test_a_clone_is_light(results_index):
    sizes = [path.stat().st_size for path in results_index.RESULTS.rglob("*") if path.is_file()]
    assert sum(sizes) <= 18.9 * MEGABYTE


def test_every_result_is_compressed_without_a_date(results_index):
    paths = list(results_index.RESULTS.rglob("*.json*"))
    assert [path for path in paths if path.suffix != ".gz"] == [results_index.MANIFEST]
    for path in results_index.RESULTS.rglob("*.gz"):
        head = path.read_bytes()[:8]
        assert (head[:2], head[4:]) == (b"\x1f\x8b", bytes(4)), path


def test_results_name_no_folder_of_the_machine_they_were_measured_on(results_index):
    for path in results_index.RESULTS.rglob("*.json.gz"):
        text = gzip.decompress(path.read_bytes()).decode("utf-8")
        assert not re.search(r'"/(tmp|home|root|work)/', text), path
