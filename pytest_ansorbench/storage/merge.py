"""Several results into one: shards of a session, or machines that did different cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NoReturn

from pytest_ansorbench.records import CaseResult, Result, Shard, Shards
from pytest_ansorbench.stats.changes import SAME
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.storage.files import StorageError
from pytest_ansorbench.storage.machine import package_difference

#: Settings by which runs are judged: a result has one of each.
_JUDGED_BY: Final = (
    "goal",
    "tolerance",
    "confidence",
    "noise",
    "false_alarms",
    "progress",
    *(figure.suite_keyword for figure in FIGURES.values() if figure.suite_keyword),
)


def merge_results(results: Mapping[str, Result]) -> Result:
    """Put results together; what two of them say of the same thing has to agree.

    Cases add up. The same case from two results becomes one with the runs of both, if it is of
    one version, with the same strategies, limits and looks, and each seed is there once. Its
    repeats may come from different machines, since ratios between arms stay within a repeat. A case
    that one result lost and another has is not lost; one that nobody has is, if a shard knows of
    it. Shards that are all there make a whole session.
    """
    (first_name, merged), *others = results.items()
    if others:
        for name, result in results.items():
            _check_once(name, result)
    sources = {case.case: first_name for case in merged.cases}
    for name, other in others:
        _check_equal(first_name, name, "commit", merged.commit.get("id"), other.commit.get("id"))
        for key in _JUDGED_BY:
            if key in merged.settings and key in other.settings:
                _check_equal(
                    first_name, name, f"setting {key}", merged.settings[key], other.settings[key]
                )
        looks = [one.settings["repeats"] for one in (merged, other) if "repeats" in one.settings]
        if len(looks) == 2:
            mine, theirs = (one if isinstance(one, str) else "all" for one in looks)
            judged = "number of repeats after which all cases are judged"
            _check_equal(first_name, name, judged, mine, theirs)
        for machine in merged.machines.keys() & other.machines.keys():
            if changed := package_difference(merged.machines[machine], other.machines[machine]):
                _clash(first_name, name, f"{changed} on the same machine")
        cases = {case.case: case for case in merged.cases}
        for case in other.cases:
            if case.case in cases:
                case = _joined(cases[case.case], case, sources[case.case], name)
            else:
                sources[case.case] = name
            cases[case.case] = case
        merged = replace(
            merged,
            machines={**merged.machines, **other.machines},
            cases=tuple(cases.values()),
            noise=(*merged.noise, *other.noise),
            lost=tuple(dict.fromkeys((*merged.lost, *other.lost))),
            shards=_united(merged.shards, other.shards, first_name, name),
        )
    return _complete(merged)


def _complete(merged: Result) -> Result:
    """Find out what is lost, and whether a session that was shared out is whole again."""
    there = dict.fromkeys(case.case for case in merged.cases)
    shards = merged.shards
    known = dict.fromkeys((*merged.lost, *(shards.cases if shards is not None else ())))
    whole = shards is None or not shards.missing
    cases, settings = merged.cases, merged.settings
    if shards is not None:
        if len(shards.there) > 1:  # else it is as its session was
            settings = {key: settings[key] for key in settings if key not in ("shard", "shard_by")}
        order = [*shards.cases, *there]
        cases = tuple(sorted(cases, key=lambda case: order.index(case.case)))
    return replace(
        merged,
        settings=settings,
        cases=cases,
        lost=tuple(name for name in known if name not in there),
        shards=None if whole else shards,
    )


def _united(one: Shards | None, other: Shards | None, one_name: str, name: str) -> Shards | None:
    if one is None or other is None:
        return one or other
    _check_equal(one_name, name, "number of shards", one.count, other.count)
    # Each has them in the order in which its tests were collected.
    mine, theirs = (tuple(sorted(shards.cases)) for shards in (one, other))
    _check_equal(one_name, name, "list of the session's cases", mine, theirs)
    if twice := sorted({*one.there} & {*other.there}):
        _clash(one_name, name, f"both have shard {Shard(twice[0], one.count)}")
    return replace(one, there=tuple(sorted((*one.there, *other.there))))


def _check_once(name: str, result: Result) -> None:
    """Refuse a result with two entries of a case: which of them others belong to is not told."""
    seen: set[str] = set()
    for case in result.cases:
        if case.case in seen:
            raise StorageError(
                f"bad result {name!r}: it has the case {case.case} twice, from two tests, and "
                "cannot be merged with others; run such tests in sessions of their own, or give "
                "their cases different ids"
            )
        seen.add(case.case)


def _joined(one: CaseResult, other: CaseResult, one_name: str, other_name: str) -> CaseResult:
    for what in ("version", "strategies", "control"):
        _check_equal(
            one_name, other_name, f"{what} of {one.case}", getattr(one, what), getattr(other, what)
        )
    judged = f"number of repeats after which {one.case} is judged"
    _check_equal(one_name, other_name, judged, one.looks or "all", other.looks or "all")
    if one.verdicts and other.verdicts:
        mine, theirs = ({gate.metric: gate.limit for gate in case.gates} for case in (one, other))
        _check_equal(one_name, other_name, f"what {one.case} is held to", mine, theirs)
    taken = {(run.strategy, run.seed) for run in one.runs}
    for run in other.runs:
        if (run.strategy, run.seed) in taken:
            _clash(
                one_name,
                other_name,
                f"both have the run of {run.strategy} on {one.case} with seed {run.seed}",
            )
    runs = sorted((*one.runs, *other.runs), key=lambda run: run.seed)
    same = {tuple(getattr(run, name) for name, _ in SAME) for run in runs}
    if len(same) > 1:
        _clash(one_name, other_name, f"{one.case} has runs of different budgets or caches")
    # Verdicts over some of the runs are verdicts no more; the limits in them are still good.
    measured = {found.machine for found in one.yardsticks}
    further = (found for found in other.yardsticks if found.machine not in measured)
    return replace(one, runs=tuple(runs), yardsticks=(*one.yardsticks, *further))


def _check_equal(one: str, other: str, what: str, mine: object, theirs: object) -> None:
    if mine != theirs:
        _clash(one, other, f"{what} is {mine!r} in one and {theirs!r} in the other")


def _clash(one: str, other: str, what: str) -> NoReturn:
    raise StorageError(f"bad results {one!r} and {other!r}: {what}; they cannot be merged")
