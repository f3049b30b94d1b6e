"""`--ansor-noise-check`: seconds, where what was seen goes, and what is said of it."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.storage import read_journal, read_result, write_result
from pytest_ansorbench.storage.entries import NoiseEntry
from tests.saved_cases import SAVED, result_of
from tests.synthetic import make_noise

CALM = (make_noise("start", scatter=0.001, memory_s=0.05),)
NOISY = (make_noise("start", scatter=0.2, memory_s=0.2),)


def test_both_looks_are_in_the_journal_and_in_every_file(project):
    outcome = project.bench(
        "--ansor-noise-check=0.2",
        "--ansor-json=result.json",
        "--ansor-save=main",
        "--ansor-trials=2",
        "--ansor-progress=believed",
        "-v",
    )
    assert outcome.code == 0, outcome.text
    written = read_result(project.root / "result.json")
    [stored] = (project.root / ".ansor_bench").glob("*main*.json")
    past = read_journal(project.journal())
    looks = [entry for entry in past.entries if isinstance(entry, NoiseEntry)]
    assert [one.moment for one in written.noise] == ["start", "end"]
    assert written.noise == read_result(stored).noise
    assert [one.trace for one in written.noise] == [look.trace for look in looks]
    assert past.finished
    assert written.settings["noise_check_s"] == 0.2


@pytest.mark.usefixtures("fast_engine")
def test_without_seconds_nothing_is_looked_at(project):
    assert project.bench("--ansor-noise-check=0", "--ansor-json=result.json").code == 0
    assert project.json("result.json")["noise"] == []


def test_a_replay_tells_the_noise_of_its_files_and_a_comparison_what_changed(project):
    saved = project.replaying("SAVED[:1]")
    write_result(dataclasses.replace(result_of(SAVED), noise=NOISY), saved.root / "saved.json")
    write_result(dataclasses.replace(result_of(SAVED), noise=CALM), saved.root / "calm.json")
    outcome = saved.pytest(
        "--ansor-bench",
        "--ansor-replay=saved.json",
        "--ansor-compare=calm.json",
        "--ansor-json=again.json",
    )
    assert outcome.code == 0, outcome.text
    assert "noise: a kernel timed for 3 ms scatters by 1" in outcome.out
    assert "the machine was much noisier now: kernels scattered by 0." in outcome.out
    assert read_result(saved.root / "again.json").noise == NOISY
