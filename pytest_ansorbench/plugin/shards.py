"""`--ansor-shard`: which tests and repeats are this machine's, of those that were collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest

from pytest_ansorbench.bench import PlannedCase, recorded_repeat_s, share_out
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.selection import case_id, case_of
from pytest_ansorbench.records import Shard, Shards
from pytest_ansorbench.storage import StorageError, find_saved, read_result


@dataclass(frozen=True)
class Collected:
    """A test that tunes a case, before it is known on which machine.

    Attributes:
        item: The test.
        settings: Its settings.
        arms: How many strategies it has, controls left out.
        seeds: The repeats that are planned.
        divisible: Whether these may go to different machines.
    """

    item: pytest.Item
    settings: Settings
    arms: int
    seeds: tuple[int, ...]
    divisible: bool

    @property
    def repeat_trials(self) -> int:
        """Trials of one repeat."""
        budget, case = self.settings.budget, case_of(self.item)
        tasks = len(case.tasks()) if budget.trials.per_task and case is not None else 1
        return self.arms * budget.in_all(tasks)


@dataclass(frozen=True)
class ThisShard:
    """What one machine runs of a session.

    Attributes:
        shard: Which part it is.
        seeds: By test, the repeats that it runs, or None for all; tests of other parts are not
            there.
        repeats: How many repeats it runs, and how many all parts do.
        tests: How many tests all parts have.
        cases: Ids of the cases of all parts, as far as they show before they run.
    """

    shard: Shard
    seeds: Mapping[str, tuple[int, ...] | None]
    repeats: tuple[int, int]
    tests: int
    cases: tuple[str, ...]

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
    shard: Shard, collected: Sequence[Collected], storage: Path, earlier: str | None
) -> ThisShard:
    """Find out what this machine is to run.

    Args:
        shard: Which part that is.
        collected: All tests of the session, at least one.
        storage: Folder of stored results.
        earlier: The result whose seconds balance the parts, by name, number or path; None for
            trials.

    Raises:
        pytest.UsageError: The result cannot be read.
    """
    recorded = {} if earlier is None else _recorded(storage, earlier)
    # What was not recorded takes as long for a trial as the rest did.
    found = {one.item.nodeid: recorded.get(case_id(one.item) or "") for one in collected}
    paces_s = [
        seconds / one.repeat_trials
        for one in collected
        if (seconds := found[one.item.nodeid]) is not None
    ]
    trial_s = fmean(paces_s) if paces_s else 1.0
    planned = [
        PlannedCase(
            name=one.item.nodeid,
            seeds=one.seeds,
            repeat_s=found[one.item.nodeid] or trial_s * one.repeat_trials,
            divisible=one.divisible,
        )
        for one in collected
    ]
    mine = share_out(planned, shard.count)[shard.index - 1]
    divisible = {case.name for case in planned if case.divisible}
    ids = (case_id(one.item) for one in collected)
    return ThisShard(
        shard,
        {name: seeds if name in divisible else None for name, seeds in mine.items()},
        (sum(map(len, mine.values())), sum(len(one.seeds) for one in collected)),
        len(collected),
        tuple(dict.fromkeys(case for case in ids if case is not None)),
    )


def _recorded(storage: Path, earlier: str) -> Mapping[str, float]:
    try:
        return recorded_repeat_s(read_result(find_saved(storage, earlier)))
    except StorageError as error:
        raise pytest.UsageError(f"bad {flag_of('shard_by')}: {error}") from None
