"""`--ansor-shard`: which tests and repeats are this machine's, of those that were collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest

from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.plugin.collected import Collected
from pytest_ansorbench.records import Result, Shard, Shards
from pytest_ansorbench.storage import StorageError, find_saved, read_result


@dataclass(frozen=True)
class PlannedCase:
    """What a session means to run of one case."""

    name: str  # what the session calls it, once each
    seeds: tuple[int, ...]  # its repeats, at least one
    # Seconds that one of them may take, all arms together; any unit that all cases share will do
    repeat_s: float
    # Whether repeats may go to different machines. Those that stop by what they see stay together
    divisible: bool


@dataclass(frozen=True)
class ThisShard:
    """What one machine runs of a session."""

    seeds: Mapping[str, tuple[int, ...] | None]  # by test, its repeats here, or None for all
    record: Shards  # for the result, with the ids of cases that show before they run
    note: str  # what a user should know of it


def this_shard(
    shard: Shard,
    collected: Sequence[Collected],
    planned: Mapping[str, tuple[Sequence[int], bool]],
    storage: Path,
    earlier: str | None,
) -> ThisShard:
    """Find out what this machine is to run.

    Args:
        shard: Which part that is.
        collected: All tests of the session, at least one.
        planned: By test, the seeds of its repeats, and whether these may go to different machines.
        storage: Folder of stored results.
        earlier: The result whose seconds balance the parts, by name, number or path; None for
            trials.

    Raises:
        pytest.UsageError: The result cannot be read.
    """
    recorded = {} if earlier is None else _recorded(storage, earlier)
    found = {test.name: recorded.get(test.case or "") for test in collected}
    # What was not recorded takes as long for a trial as the rest did.
    paces_s = [
        seconds / test.repeat_trials
        for test in collected
        if (seconds := found[test.name]) is not None
    ]
    trial_s = fmean(paces_s) if paces_s else 1.0
    cases = []
    for test in collected:
        seeds, divisible = planned[test.name]
        repeat_s = found[test.name] or trial_s * test.repeat_trials
        cases.append(PlannedCase(test.name, tuple(seeds), repeat_s, divisible))
    mine = share_out(cases, shard.count)[shard.index - 1]
    divisible_cases = {case.name for case in cases if case.divisible}
    ids = dict.fromkeys(test.case for test in collected if test.case is not None)
    here, every = sum(map(len, mine.values())), sum(len(case.seeds) for case in cases)
    return ThisShard(
        {name: seeds if name in divisible_cases else None for name, seeds in mine.items()},
        Shards(shard.count, (shard.index,), tuple(ids)),
        f"shard {shard}: {len(mine)} of {len(collected)} cases, {here} of {every} repeats; gates "
        "are judged of all shards together, by ansor-bench merge",
    )


def share_out(cases: Sequence[PlannedCase], count: int) -> list[dict[str, tuple[int, ...]]]:
    """Divide cases and repeats into parts that take about as long.

    The longest goes first, to the part that has least to do so far; of several such to one that
    has the case already (longest processing time first, Graham 1969,
    https://doi.org/10.1137/0117039: no part takes longer than 4/3 of what the best division
    does). It depends on what the cases are and not on their order, so that each machine finds its
    own part in whatever order it collected them.
    """
    blocks = sorted(
        (-case.repeat_s * len(seeds), case.name, seeds)
        for case in cases
        for seeds in ([(seed,) for seed in case.seeds] if case.divisible else [case.seeds])
    )
    loads_s = [0.0] * count
    parts: list[dict[str, tuple[int, ...]]] = [{} for _ in range(count)]
    for minus_s, name, seeds in blocks:
        lightest = min(range(count), key=lambda at: (loads_s[at], name not in parts[at], at))
        loads_s[lightest] -= minus_s
        parts[lightest][name] = (*parts[lightest].get(name, ()), *seeds)
    return parts


def recorded_repeat_s(result: Result) -> Mapping[str, float]:
    """Search seconds of one repeat of each recorded case, all arms together."""
    return {
        case.case: fmean(run.search_s for run in case.runs) * len(case.strategies)
        for case in result.cases
        if case.runs
    }


def _recorded(storage: Path, earlier: str) -> Mapping[str, float]:
    try:
        # Past none that cannot be read: another machine might read it, and divide otherwise.
        return recorded_repeat_s(read_result(find_saved(storage, earlier)[-1]))
    except StorageError as error:
        raise pytest.UsageError(f"bad {flag_of('shard_by')}: {error}") from None
