"""Saved baselines: `--ansor-save`, `--ansor-autosave`, `--ansor-compare` and what they fail."""

from __future__ import annotations

import json

import pytest

from pytest_ansorbench.storage import save_numbered
from tests.saved_cases import SAVED, result_of

REPLAY = "--ansor-replay=saved.json"


@pytest.fixture
def stored(saved):
    """The saved result, stored as the baseline `main`."""
    save_numbered(result_of(SAVED[:1]), saved.root / ".ansor_bench", "main")
    return saved


def alter(project, change, name=".ansor_bench/0001_main.json"):
    """Rewrite the baseline."""
    path = project.root / name
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def speed_up(data, factor, strategies=("fast",)):
    """Make kernels of a result faster than they were."""
    for run in data["cases"][0]["runs"]:
        if run["strategy"] in strategies:
            run["final"]["latencies_s"] = [
                latency_s / factor for latency_s in run["final"]["latencies_s"]
            ]


def elsewhere(data):
    """Have a result come from another machine."""
    next(iter(data["machines"].values())).update(cpu="another")


@pytest.mark.parametrize("wanted", ["", "=main", "=1", "=0001", "=.ansor_bench/0001_main.json"])
def test_a_result_is_compared_by_name_number_or_path(stored, wanted):
    outcome = stored.bench(REPLAY, f"--ansor-compare{wanted}")
    assert outcome.code == 0, outcome.text
    assert "ansor bench compared with 0001_main.json" in outcome.out
    table = outcome.out.split("compared with")[1]
    for figure in ("search_ratio", "throughput_ratio", "throughput", "search_time"):
        assert f"  {figure}  " in table


@pytest.mark.parametrize("name", ["feature/x", "1", "-x"])
def test_a_result_is_found_under_the_words_it_was_saved_under(stored, name):
    for words in (name, "other"):
        assert stored.bench(REPLAY, f"--ansor-save={words}").code == 0
    outcome = stored.bench(REPLAY, f"--ansor-compare={name}")
    assert outcome.code == 0, outcome.text
    assert "ansor bench compared with 0002_" in outcome.out


def test_the_newest_that_can_be_read_is_compared_with(stored):
    folder = stored.root / ".ansor_bench"
    (folder / "0002_main.json").touch()
    (folder / "0003_other.json").write_text("[1, 2]")
    outcome = stored.bench(REPLAY, "--ansor-compare")
    assert outcome.code == 0, outcome.text
    assert "ansor bench compared with 0001_main.json" in outcome.out
    assert outcome.out.count("passed over: bad result file ") == 2
    outcome = stored.bench(REPLAY, "--ansor-compare=other")
    assert "was it written by another tool?" in outcome.refusal


def test_a_baseline_whose_seeds_differ_is_refused_by_its_name(stored):
    alter(stored, lambda data: data["cases"][0]["runs"].pop(0))
    refusal = stored.bench(REPLAY, "--ansor-compare=main").refusal
    assert "bad --ansor-compare: bad result file '" in refusal
    assert "0001_main.json': bad challenger seeds [" in refusal


@pytest.mark.usefixtures("fast_engine")
def test_a_live_session_is_compared_with_one_before(project):
    assert project.bench("--ansor-save=main").code == 0
    outcome = project.bench("--ansor-compare=main", "--ansor-compare-fail=throughput:99%")
    assert outcome.code == 0, outcome.text
    assert "doubling  one         throughput" in outcome.out.split("compared with")[1]
    assert "another machine" not in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_allowances_decide_on_repeats_without_a_look_at_the_noise(project):
    assert project.bench("--ansor-save=main").code == 0
    outcome = project.bench(
        "--ansor-repeats=1:2", "--ansor-compare=main", "--ansor-compare-fail=throughput:99%"
    )
    assert outcome.code == 0, outcome.text


def test_a_figure_that_got_worse_fails_its_own_test(stored):
    alter(stored, lambda data: speed_up(data, 1.1))
    outcome = stored.bench(
        REPLAY,
        "--ansor-compare=main",
        "--ansor-compare-fail=throughput_ratio:3%",
        "--ansor-compare-fail=search_ratio_early:5%",
        "--junitxml=junit.xml",
    )
    assert outcome.code == 1, outcome.text
    failure = outcome.out.split("FAILURES")[1]
    assert "a, fast against the earlier result: throughput_ratio now over before = 0.91" in failure
    assert "falls short of the limit 0.97: broken" in failure
    assert "search_ratio now over before" not in failure
    assert "throughput_ratio now over before" in (stored.root / "junit.xml").read_text()


def test_within_what_is_allowed_it_passes(stored):
    alter(stored, lambda data: speed_up(data, 1.1))
    outcome = stored.bench(
        REPLAY, "--ansor-compare=main", "--ansor-compare-fail=throughput_ratio:15%"
    )
    assert outcome.code == 0, outcome.text


def test_with_one_arm_what_compares_two_is_not_asked_for_or_refused(stored):
    stored.write("pytest.ini", "[pytest]\nansor_compare_fail = throughput_ratio:3%\n")
    alone = (REPLAY, "--ansor-strategy=default", "--ansor-compare=main")
    outcome = stored.bench(*alone)
    assert outcome.code == 0, outcome.text
    told = "not asked for, as default names no challenger: compare_fail throughput_ratio (1 test)"
    assert told in outcome.out.splitlines()
    refused = stored.bench(*alone, "--ansor-compare-fail=throughput_ratio:3%")
    assert refused.code == 1, refused.text
    assert "nothing to compare: default names no challenger" in refused.out
    assert "take the gates away: no --ansor-compare-fail" in refused.out


def test_limits_of_a_test_stand_in_its_marker(stored):
    alter(stored, lambda data: speed_up(data, 1.1))
    stored.replace("test_cases.py", "bench()", "bench(compare_fail='throughput_ratio:3%')")
    assert stored.bench(REPLAY, "--ansor-compare=main").code == 1


def test_seconds_are_gated_on_the_same_machine_only(stored):
    arguments = (REPLAY, "--ansor-compare=main", "--ansor-compare-fail=throughput:3%")
    both = ("default", "fast")
    alter(stored, lambda data: speed_up(data, 1 / 2, both))
    assert stored.bench(*arguments).code == 0
    alter(stored, elsewhere)
    outcome = stored.bench(*arguments)
    assert outcome.code == 1
    assert "the earlier result is from another machine (cpu: another is now made up)" in outcome.out
    assert stored.bench(*arguments, "--ansor-any-machine").code == 0


def test_ratios_are_gated_on_any_machine(stored):
    alter(stored, lambda data: speed_up(data, 1 / 2, ("default", "fast")))
    alter(stored, elsewhere)
    arguments = (REPLAY, "--ansor-compare=main", "--ansor-compare-fail=throughput_ratio:3%")
    assert stored.bench(*arguments).code == 0
    alter(stored, lambda data: speed_up(data, 1.1))
    assert stored.bench(*arguments).code == 1


def test_what_may_jitter_does_not_make_another_machine(stored):
    jitter = {"release": "other", "memory_bytes": 1, "python": "0.0", "packages": {}}
    alter(stored, lambda data: next(iter(data["machines"].values())).update(jitter))
    outcome = stored.bench(REPLAY, "--ansor-compare=main", "--ansor-compare-fail=search_time:5%")
    assert outcome.code == 0, outcome.text
    assert "another machine" not in outcome.out


def test_a_changed_case_is_incomparable_and_no_regression(stored):
    alter(stored, lambda data: data["cases"][0].update(version="0123456789ab"))
    arguments = (REPLAY, "--ansor-compare=main", "--ansor-compare-fail=search_ratio_early:5%")
    outcome = stored.bench(*arguments)
    assert outcome.code == 0, outcome.text
    assert "a: not compared: its program changed, version 0123456789ab is now 1" in outcome.out
    assert "UndecidedWarning: a: not compared with the earlier result" in outcome.out
    assert stored.bench(*arguments, "--ansor-strict").code == 1


def test_the_baseline_is_read_before_anything_is_saved(stored):
    outcome = stored.bench(REPLAY, "--ansor-compare", "--ansor-save=pr")
    assert "compared with 0001_main.json" in outcome.out
    assert "0002_pr.json" in outcome.out
    assert "compared with 0002_pr.json" in stored.bench(REPLAY, "--ansor-compare").out


def test_autosave_names_a_result_after_commit_and_time(saved):
    outcome = saved.bench(REPLAY, "--ansor-autosave")
    assert outcome.code == 0, outcome.text
    [path] = (saved.root / ".ansor_bench").glob("0001_unversioned_*_*.json")
    assert f"saved: {path}" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--ansor-compare"], "bad result 'newest': expected a name, a number or a file, "),
        (["--ansor-compare=other"], "bad --ansor-compare: bad result 'other'"),
        (
            ["--ansor-compare-fail=search_ratio_early:5%"],
            "bad --ansor-compare-fail 'search_ratio_early:5%': expected --ansor-compare with it",
        ),
        (["--ansor-compare=test_cases.py"], "bad result file 'test_cases.py': expected JSON"),
        (["--ansor-compare-fail=speed"], "e.g. throughput_ratio:3%"),
    ],
)
def test_what_cannot_be_compared_is_told_before_anything_runs(saved, arguments, what):
    assert what in saved.bench(REPLAY, *arguments).refusal
