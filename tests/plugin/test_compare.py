"""Saved baselines: `--ansor-save`, `--ansor-autosave`, `--ansor-compare` and what they fail."""

from __future__ import annotations

import json

import pytest

QUICK = ("--ansor-repeats=3",)


@pytest.fixture
def saved(project):
    outcome = project.bench(*QUICK, "--ansor-save=main")
    assert outcome.code == 0, outcome.text
    return project


def baseline(project):
    return project.root / ".ansor_bench" / "0001_main.json"


def alter(project, change):
    """Rewrite the baseline."""
    data = json.loads(baseline(project).read_text())
    change(data)
    baseline(project).write_text(json.dumps(data))


def speed_up(data, factor):
    """Make the candidate's kernels of the earlier result faster than they were."""
    for run in data["cases"][0]["runs"]:
        if run["strategy"] == "two":
            run["final"]["latencies_s"] = [each / factor for each in run["final"]["latencies_s"]]


@pytest.mark.parametrize("wanted", ["", "=main", "=1", "=0001", "=.ansor_bench/0001_main.json"])
def test_a_result_is_compared_by_name_number_or_path(saved, wanted):
    outcome = saved.bench(*QUICK, f"--ansor-compare{wanted}")
    assert outcome.code == 0, outcome.text
    assert "ansor bench compared with 0001_main.json" in outcome.out
    table = outcome.out.split("compared with")[1]
    for figure in ("search_ratio", "throughput_ratio", "throughput", "search_time"):
        assert f"  {figure}  " in table


def test_a_figure_that_got_worse_fails_its_own_test(saved):
    alter(saved, lambda data: speed_up(data, 1000))
    outcome = saved.bench(
        *QUICK,
        "--ansor-compare=main",
        "--ansor-compare-fail=throughput_ratio:3%",
        "--ansor-compare-fail=search_ratio:90%",
        "--junitxml=junit.xml",
    )
    assert outcome.code == 1, outcome.text
    failure = outcome.out.split("FAILURES")[1]
    assert "doubling, two against the earlier result: throughput_ratio now over before" in failure
    assert "falls short of the limit 0.97: broken" in failure
    assert "throughput_ratio now over before" in (saved.root / "junit.xml").read_text()


def test_within_what_is_allowed_it_passes(saved):
    alter(saved, lambda data: speed_up(data, 1 / 1000))
    outcome = saved.bench(
        *QUICK, "--ansor-compare=main", "--ansor-compare-fail=throughput_ratio:3%"
    )
    assert outcome.code == 0, outcome.text


def test_limits_of_a_test_stand_in_its_marker(saved):
    alter(saved, lambda data: speed_up(data, 1000))
    cases = (saved.root / "test_cases.py").read_text()
    saved.write(
        "test_cases.py", cases.replace("trials=4", "trials=4, compare_fail='throughput_ratio:3%'")
    )
    assert saved.bench(*QUICK, "--ansor-compare=main").code == 1


def test_seconds_are_gated_on_the_same_machine_only(saved):
    arguments = (*QUICK, "--ansor-compare=main", "--ansor-compare-fail=throughput:3%")
    slower = lambda data: [  # noqa: E731
        run["final"].update(latencies_s=[1e3 * each for each in run["final"]["latencies_s"]])
        for run in data["cases"][0]["runs"]
    ]
    alter(saved, slower)
    assert saved.bench(*arguments).code == 0
    alter(saved, lambda data: next(iter(data["machines"].values())).update(cpu="another"))
    outcome = saved.bench(*arguments)
    assert outcome.code == 1
    assert "the earlier result is from another machine (cpu: another is now" in outcome.out
    assert saved.bench(*arguments, "--ansor-any-machine").code == 0


def test_what_may_jitter_does_not_make_another_machine(saved):
    jitter = {"release": "other", "memory_bytes": 1, "python": "0.0", "packages": {}}
    alter(saved, lambda data: next(iter(data["machines"].values())).update(jitter))
    outcome = saved.bench(*QUICK, "--ansor-compare=main", "--ansor-compare-fail=search_time:99%")
    assert outcome.code == 0, outcome.text
    assert "another machine" not in outcome.out


def test_a_changed_case_is_incomparable_and_no_regression(saved):
    alter(saved, lambda data: data["cases"][0].update(version="0123456789ab"))
    arguments = (*QUICK, "--ansor-compare=main", "--ansor-compare-fail=search_ratio:5%")
    outcome = saved.bench(*arguments)
    assert outcome.code == 0, outcome.text
    assert "doubling: not compared: its program changed, version 0123456789ab is now" in outcome.out
    assert "UndecidedWarning: doubling: not compared with the earlier result" in outcome.out
    assert saved.bench(*arguments, "--ansor-strict").code == 1


def test_the_baseline_is_read_before_anything_is_saved(saved):
    outcome = saved.bench(*QUICK, "--ansor-compare", "--ansor-save=pr")
    assert "compared with 0001_main.json" in outcome.out
    assert "0002_pr.json" in outcome.out
    assert "compared with 0002_pr.json" in saved.bench(*QUICK, "--ansor-compare").out


def test_autosave_names_a_result_after_commit_and_time(project):
    outcome = project.bench(*QUICK, "--ansor-autosave")
    assert outcome.code == 0, outcome.text
    [path] = (project.root / ".ansor_bench").glob("0001_unversioned_*_*.json")
    assert f"saved: {path}" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--ansor-compare"], "bad result 'newest': expected a name, a number or a file, "),
        (["--ansor-compare=other"], "bad --ansor-compare: bad result 'other'"),
        (
            ["--ansor-compare-fail=search_ratio:5%"],
            "bad --ansor-compare-fail 'search_ratio:5%': expected --ansor-compare with it",
        ),
        (
            ["--ansor-compare=test_cases.py"],
            "bad result file 'test_cases.py': expected JSON",
        ),
        (["--ansor-compare-fail=speed"], "e.g. search_ratio:5%"),
    ],
)
def test_what_cannot_be_compared_is_told_before_anything_runs(project, arguments, what):
    outcome = project.bench(*arguments)
    assert outcome.code == 4
    assert what in outcome.err
