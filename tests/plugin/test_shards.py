"""A session in several parts: each runs its own, and all together are judged as one."""

from __future__ import annotations

import dataclasses
from itertools import islice

import pytest

from pytest_ansorbench.storage import read_result, write_result
from tests.saved_cases import SAVED, result_of

GATED = """
import pytest
from tests.saved_cases import SAVED

@pytest.mark.ansor_bench(max_early_search_ratio={limit})
@pytest.mark.parametrize("case", SAVED, ids=str)
def test_case(ansor_bench, case):
    ansor_bench(case)

def test_of_something_else():
    pass
"""


REPLAY = "--ansor-replay=saved.json"


@pytest.fixture
def saved(everything):
    """Recorded runs of three cases, five repeats of each."""
    return everything


def run_parts(project, count, *arguments):
    """Run all parts of a session."""
    for index in range(1, count + 1):
        shard = f"--ansor-shard={index}/{count}"
        outcome = project.bench(shard, f"--ansor-json={index}.json", REPLAY, *arguments)
        assert outcome.code == 0, outcome.text
        yield outcome


def merge(project, *parts):
    return project.ansor_bench("merge", *parts, "-o", "all.json")


def test_parts_come_to_the_verdicts_of_the_whole(saved):
    saved.write("test_cases.py", GATED.format(limit=0.9))
    suite = ("--ansor-max-suite-search-ratio=0.9", "--ansor-min-suite-throughput-ratio=0.9")
    whole = saved.bench(REPLAY, "--ansor-json=whole.json", *suite)
    assert whole.code == 0, whole.text
    outcomes = list(run_parts(saved, 4, *suite))
    assert all("ansor-bench::suite" not in outcome.text for outcome in outcomes)
    merged = merge(saved, "1.json", "2.json", "3.json", "4.json")
    assert (merged.code, merged.out) == (0, "all.json: 3 cases, 30 runs from 4 results\n")
    expected, found = (read_result(saved.root / name) for name in ("whole.json", "all.json"))
    assert found.suites == expected.suites
    assert [case.verdicts for case in found.cases] == [case.verdicts for case in expected.cases]
    assert [case.case for case in found.cases] == ["a", "b", "c"]


def test_a_part_says_what_it_has_and_who_judges(saved):
    first = next(run_parts(saved, 4))
    assert "shard 1/4: " in first.out
    assert " of 3 cases, 4 of 15 repeats; gates are judged of all shards together" in first.out
    assert "deselected" in first.out


def test_a_gate_that_is_broken_fails_no_part_but_the_whole(saved):
    saved.write("test_cases.py", GATED.format(limit=0.1))
    assert saved.bench(REPLAY).code == 1
    assert [outcome.code for outcome in run_parts(saved, 2)] == [0, 0]
    assert merge(saved, "1.json", "2.json").code == 0
    assert saved.ansor_bench("show", "all.json").code == 1


def test_tests_that_tune_nothing_run_in_every_part(saved):
    saved.write("test_cases.py", GATED.format(limit=0.9))
    assert all("test_of_something_else PASSED" in one.out for one in run_parts(saved, 2, "-v"))


def test_a_missing_part_is_named_and_so_is_what_it_alone_had(saved):
    list(run_parts(saved, 3, "--ansor-case=a,b"))
    outcome = merge(saved, "1.json", "3.json")
    assert outcome.code == 3
    assert "missing: shard 2/3\n" in outcome.out
    again = saved.ansor_bench("merge", "all.json", "2.json", "-o", "whole.json")
    assert (again.code, "missing" in again.out) == (0, False)


def test_a_replay_of_some_parts_is_still_some_and_says_which_are_missing(saved):
    list(run_parts(saved, 3))
    outcome = saved.bench("--ansor-replay=1.json", "--ansor-replay=3.json", "--ansor-json=13.json")
    assert outcome.code == 0, outcome.text
    assert "--ansor-replay: missing shards 2/3" in outcome.out.splitlines()
    assert "missing: shard 2/3\n" in merge(saved, "13.json").out
    assert merge(saved, "13.json", "2.json").code == 0


def test_cases_without_any_run_are_named(saved):
    list(islice(run_parts(saved, 15), 2))
    outcome = merge(saved, "1.json", "2.json")
    assert outcome.code == 3
    assert "missing: shards 3/15, 4/15" in outcome.out
    assert "without any run: b, c" in outcome.out


def test_a_part_without_work_is_there_all_the_same(saved):
    list(run_parts(saved, 6, "--ansor-case=a"))
    outcome = merge(saved, *(f"{index}.json" for index in range(1, 7)))
    assert (outcome.code, outcome.out) == (0, "all.json: 1 case, 10 runs from 6 results\n")


def test_parts_are_balanced_by_recorded_seconds(saved):
    slow, fast = result_of(SAVED[:1], seconds_per_trial=9.0), result_of(SAVED[1:])
    earlier = dataclasses.replace(fast, cases=(*slow.cases, *fast.cases))
    write_result(earlier, saved.root / "earlier.json")
    list(run_parts(saved, 2, "--ansor-shard-by=earlier.json"))
    repeats = [
        {case.case: case.repeats for case in read_result(saved.root / f"{index}.json").cases}
        for index in (1, 2)
    ]
    # 40 and 6 seconds a repeat: five of the one take as long as most of the rest.
    assert sum(found.get("a", 0) for found in repeats) == 5
    assert {found.get("a", 0) for found in repeats} == {2, 3}
    few, many = sorted(repeats, key=lambda found: found["a"])[::-1]
    assert sum(many.values()) > sum(few.values())


@pytest.mark.parametrize("by", [(), ("--ansor-shard-by=saved.json",)], ids=["trials", "seconds"])
def test_parts_whose_tests_come_in_random_order_make_a_whole(saved, by):
    pytest.importorskip("pytest_randomly")
    for index in (1, 2):
        part = (f"--ansor-shard={index}/2", f"--ansor-json={index}.json", *by)
        order = ("-p", "randomly", f"--randomly-seed={index}")
        outcome = saved.bench(REPLAY, *part, *order)
        assert outcome.code == 0, outcome.text
    outcome = merge(saved, "1.json", "2.json")
    assert (outcome.code, outcome.out) == (0, "all.json: 3 cases, 30 runs from 2 results\n")


def test_parts_whose_files_come_in_another_order_make_a_whole(saved):
    files = {"test_cases.py": "[:2]", "test_more.py": "[2:]"}
    for name, some in files.items():
        saved.write(name, GATED.format(limit=0.9).replace('"case", SAVED', f'"case", SAVED{some}'))
    for index, names in ((1, [*files]), (2, [*files][::-1])):
        part = (f"--ansor-shard={index}/2", f"--ansor-json={index}.json")
        outcome = saved.bench(REPLAY, *part, *names)
        assert outcome.code == 0, outcome.text
    outcome = merge(saved, "1.json", "2.json")
    assert (outcome.code, outcome.out) == (0, "all.json: 3 cases, 30 runs from 2 results\n")


def test_it_works_under_xdist(saved):
    for shard, processes in (("1/2", "1"), ("2/2", "0")):
        part = (f"--ansor-shard={shard}", f"--ansor-json={shard[0]}.json", "-n", processes)
        outcome = saved.bench(REPLAY, *part)
        assert outcome.code == 0, outcome.text
    outcome = merge(saved, "1.json", "2.json")
    assert (outcome.code, outcome.out) == (0, "all.json: 3 cases, 30 runs from 2 results\n")


@pytest.mark.usefixtures("fast_engine")
def test_searches_are_shared_out_as_well(project):
    for index in (1, 2):
        outcome = project.bench(
            f"--ansor-shard={index}/2", "--ansor-repeats=2", f"--ansor-json={index}.json"
        )
        assert outcome.code == 0, outcome.text
    assert merge(project, "1.json", "2.json").code == 0
    [case] = read_result(project.root / "all.json").cases
    assert [(run.strategy, run.seed) for run in case.runs] == [
        *(("one", 0), ("two", 0)),
        *(("one", 1), ("two", 1)),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--ansor-shard=3/2"],
            "bad --ansor-shard '3/2': expected one of N parts, from 1/N to N/N",
        ),
        (["--ansor-shard=half"], "bad --ansor-shard 'half': expected one of N parts"),
        (["--ansor-shard-by=x.json"], "bad --ansor-shard-by 'x.json': expected --ansor-shard"),
        (
            ["--ansor-shard=1/2", "--ansor-shard-by=nowhere"],
            "bad --ansor-shard-by: bad result 'nowhere'",
        ),
        (
            ["--ansor-shard=1/2", "--ansor-compare=saved.json"],
            "bad --ansor-compare 'saved.json': a shard has only some of the runs",
        ),
    ],
)
def test_what_cannot_be_shared_out_is_refused(saved, arguments, message):
    assert message in saved.bench(REPLAY, *arguments).refusal
