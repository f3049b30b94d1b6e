"""`--ansor-shard`: which tests and repeats are this machine's, of those that were collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest

from pytest_ansorbench.bench import PlannedCase, recorded_repeat_s, share_out
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.plugin.collected import Collected
from pytest_ansorbench.records import Shard, Shards
from pytest_ansorbench.storage import StorageError, find_saved, read_result


@dataclass(frozen=True)
class ThisShard:
    """What one machine runs of a session."""

    shard: Shard
    seeds: Mapping[str, tuple[int, ...] | None]  # by test, its repeats here, or None for all
    repeats: tuple[int, int]  # those that it runs, and those of all parts
    tests: int  # of all parts
    cases: tuple[str, ...]  # ids of the cases of all parts, as far as they show before they run

    @property
    def record(self) -> Shards:
        """For the result."""
        return Shards(self.shard.count, (self.shard.index,), self.cases)

    @property
    def note(self) -> str:
        """What a user should know of it."""
        mine, every = self.repeats
        return (
            f"shard {self.shard}: {len(self.seeds)} of {self.tests} cases, {mine} of {every} "
            "repeats; gates are judged of all shards together, by ansor-bench merge"
        )


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
    return ThisShard(
        shard,
        {name: seeds if name in divisible_cases else None for name, seeds in mine.items()},
        (sum(map(len, mine.values())), sum(len(case.seeds) for case in cases)),
        len(collected),
        tuple(dict.fromkeys(test.case for test in collected if test.case is not None)),
    )


def _recorded(storage: Path, earlier: str) -> Mapping[str, float]:
    try:
        return recorded_repeat_s(read_result(find_saved(storage, earlier)))
    except StorageError as error:
        raise pytest.UsageError(f"bad {flag_of('shard_by')}: {error}") from None
