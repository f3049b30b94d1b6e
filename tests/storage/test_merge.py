"""Merging results: what adds up, and what clashes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from pytest_ansorbench.records import CaseResult, Result, Shards
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import StorageError, fingerprint, merge_results
from tests.synthetic import (
    MACHINE,
    make_case_result,
    make_noise,
    make_result,
    make_run,
    with_runs,
)


def shard(case: str = "conv2d", seeds: range = range(3), **more: Any) -> Result:
    reference = [make_run(case, seed=seed, final=1.0) for seed in seeds]
    fast = [make_run(case, "fast", seed, seconds_per_trial=0.5, final=1.0) for seed in seeds]
    return make_result(make_case_result(case, reference, {"fast": fast}, **more))


def test_one_result_is_itself() -> None:
    assert merge_results({"a": shard()}) == shard()


def test_cases_add_up_in_order() -> None:
    merged = merge_results({"a": shard("b"), "b": shard("a"), "c": shard("c")})
    assert [case.case for case in merged.cases] == ["b", "a", "c"]
    assert merged.created == shard().created


def test_seeds_of_a_case_add_up() -> None:
    merged = merge_results({"a": shard(seeds=range(2)), "b": shard(seeds=range(2, 5))})
    [case] = merged.cases
    assert sorted(run.seed for run in case.runs if run.strategy == "fast") == [0, 1, 2, 3, 4]


def test_the_noise_of_all_machines_is_kept() -> None:
    there = fingerprint(ELSEWHERE)
    one = dataclasses.replace(shard("a"), noise=(make_noise("start"), make_noise("end")))
    other = measured_elsewhere(shard("b"))
    other = dataclasses.replace(other, noise=(make_noise("start", machine=there),))
    merged = merge_results({"a": one, "b": other})
    assert merged.noise == (*one.noise, *other.noise)


ELSEWHERE = {"cpu": "another", "physical_cores": 4}


def measured_elsewhere(result: Result) -> Result:
    [case] = result.cases
    machine = fingerprint(ELSEWHERE)
    there = with_runs(case, machine=machine)
    return dataclasses.replace(result, machines={machine: ELSEWHERE}, cases=(there,))


def test_machines_are_kept_apart_by_case() -> None:
    merged = merge_results({"a": shard(), "b": measured_elsewhere(shard("matmul"))})
    machines = [merged.machines[name]["cpu"] for case in merged.cases for name in case.machines]
    assert machines == ["made up", "another"]


def test_repeats_of_a_case_may_come_from_different_machines() -> None:
    elsewhere = measured_elsewhere(shard(seeds=range(2, 5)))
    merged = merge_results({"a": shard(seeds=range(2)), "b": elsewhere})
    [case] = merged.cases
    assert [merged.machines[name]["cpu"] for name in case.machines] == ["made up", "another"]
    cpu = {run.seed: merged.machines[run.machine]["cpu"] for run in case.runs}
    assert cpu == {0: "made up", 1: "made up", 2: "another", 3: "another", 4: "another"}


def with_tvm(version: str, seeds: range) -> Result:
    machine = {**MACHINE, "packages": {"apache-tvm": version}}
    return dataclasses.replace(shard(seeds=seeds), machines={fingerprint(MACHINE): machine})


def test_other_packages_on_the_same_machine_are_refused() -> None:
    then, now = with_tvm("0.26.0", range(2)), with_tvm("0.27.0", range(2, 4))
    with pytest.raises(StorageError, match=r"'b': apache-tvm 0\.26\.0 is now 0\.27\.0 on the same"):
        merge_results({"a": then, "b": now})
    merge_results({"a": then, "b": shard(seeds=range(2, 4))})  # of a version that tells none


def changed(how: Callable[..., CaseResult], **fields: Any) -> Callable[[Result], Result]:
    """What changes fields of a result's case, or of its runs."""

    def change(result: Result) -> Result:
        [case] = result.cases
        return dataclasses.replace(result, cases=(how(case, **fields),))

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda result: shard(seeds=range(2, 5)), "both have the run of default .* with seed 2"),
        (
            changed(dataclasses.replace, version="2"),
            "version of conv2d is '1' in one and '2' in the other",
        ),
        (
            changed(dataclasses.replace, control="fast"),
            "control of conv2d is None in one and 'fast' in the other",
        ),
        (
            changed(dataclasses.replace, looks="3:12"),
            "number of repeats after which conv2d is judged is 'all' in one and '3:12' in the",
        ),
        (
            lambda result: shard(seeds=range(3, 6), limits=Limits({"throughput_ratio": 0.5})),
            "what conv2d is held to is .* in one and {'throughput_ratio': 0.5} in the other",
        ),
        (changed(with_runs, budget_trials=9), "conv2d has runs of different budgets"),
        (changed(with_runs, run_time_s=60.0), "conv2d has runs of different budgets"),
        (changed(with_runs, caches="cold"), "conv2d has runs of different budgets or caches"),
        (
            lambda result: dataclasses.replace(result, commit={"id": "other"}),
            "commit is 'unversioned' in one and 'other' in the other",
        ),
        (
            lambda result: dataclasses.replace(
                result, settings={**result.settings, "tolerance": 0.5}
            ),
            "setting tolerance is 0.01 in one and 0.5 in the other",
        ),
    ],
)
def test_clashes_are_refused(change: Callable[[Result], Result], what: str) -> None:
    other = change(shard(seeds=range(3, 6)))
    with pytest.raises(StorageError, match=f"bad results 'a' and 'b': {what}"):
        merge_results({"a": shard(), "b": other})


def test_results_that_count_different_progress_clash() -> None:
    confirmed, believed = (
        dataclasses.replace(one, settings={**one.settings, "progress": progress})
        for one, progress in ((shard("a"), "confirmed"), (shard("b"), "believed"))
    )
    with pytest.raises(StorageError, match="setting progress is 'confirmed' in one and 'believed'"):
        merge_results({"a": confirmed, "b": believed})


def test_results_whose_suites_are_judged_after_other_repeats_clash() -> None:
    def after(repeats: int | str, case: str) -> Result:
        made = shard(case)
        return dataclasses.replace(made, settings={**made.settings, "repeats": repeats})

    with pytest.raises(StorageError, match="all cases are judged is 'all' in one and '3:12' in"):
        merge_results({"a": after(5, "a"), "b": after("3:12", "b")})
    merge_results({"a": after(5, "a"), "b": after(6, "b")})


def part(index: int, count: int = 3, **what: Any) -> Result:
    """One of several parts of a session of three cases."""
    shards = Shards(count, (index,), ("a", "b", "c"))
    return dataclasses.replace(shard(**what), shards=shards)


def test_parts_that_are_all_there_make_a_whole_session_in_its_own_order() -> None:
    parts = {"3": part(3, case="b"), "1": part(1, case="c"), "2": part(2, case="a")}
    merged = merge_results(parts)
    assert [case.case for case in merged.cases] == ["a", "b", "c"]
    assert (merged.shards, merged.lost) == (None, ())


def test_parts_that_are_put_together_are_no_part_of_a_session_any_more() -> None:
    def of(index: int) -> Result:
        made = part(index, seeds=range(index, index + 1))
        own = {**made.settings, "shard": f"{index}/3", "shard_by": "main"}
        return dataclasses.replace(made, settings=own)

    assert merge_results({"1": of(1), "2": of(2)}).settings == part(1).settings
    assert merge_results({"1": of(1)}).settings == of(1).settings


def test_repeats_of_several_parts_are_in_order() -> None:
    parts = {
        "1": part(1, 2, case="a", seeds=range(2, 4)),
        "2": part(2, 2, case="a", seeds=range(2)),
    }
    [case] = merge_results(parts).cases
    assert [run.seed for run in case.runs_of("fast")] == [0, 1, 2, 3]


def test_missing_parts_are_known_and_what_only_they_have_is_lost() -> None:
    merged = merge_results({"1": part(1, case="a"), "3": part(3, case="c")})
    assert merged.shards is not None
    assert [str(one) for one in merged.shards.missing] == ["2/3"]
    assert merged.lost == ("b",)
    again = merge_results({"both": merged, "2": part(2, case="b")})
    assert (again.shards, again.lost) == (None, ())


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (part(1, case="b"), "both have shard 1/3"),
        (part(2, 4, case="b"), "number of shards is 3 in one and 4 in the other"),
        (
            dataclasses.replace(part(2, case="b"), shards=Shards(3, (2,), ("a", "b"))),
            "list of the session's cases is .* in one and .* in the other",
        ),
    ],
)
def test_parts_of_different_sessions_are_refused(other: Result, what: str) -> None:
    with pytest.raises(StorageError, match=f"bad results 'a' and 'b': {what}"):
        merge_results({"a": part(1, case="a"), "b": other})


def test_a_result_with_two_entries_of_a_case_is_itself_but_has_no_part_in_others() -> None:
    [case] = shard().cases
    twice = dataclasses.replace(shard(), cases=(case, case))
    assert merge_results({"a": twice}) == twice
    for results in ({"a": twice, "b": shard("b")}, {"b": shard("b"), "a": twice}):
        with pytest.raises(StorageError, match="bad result 'a': it has the case conv2d twice"):
            merge_results(results)


def test_parts_may_have_the_sessions_cases_in_any_order() -> None:
    other = dataclasses.replace(part(2, 2, case="b"), shards=Shards(2, (2,), ("c", "b", "a")))
    merged = merge_results({"1": part(1, 2, case="a"), "2": other})
    assert (merged.shards, merged.lost) == (None, ("c",))
