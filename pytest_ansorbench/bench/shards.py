"""The cases and repeats of a session shared out among machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_ansorbench.records import Result


@dataclass(frozen=True)
class PlannedCase:
    """What a session means to run of one case."""

    name: str  # what the session calls it, once each
    seeds: tuple[int, ...]  # its repeats, at least one
    # Seconds that one of them may take, all arms together; any unit that all cases share will do
    repeat_s: float
    # Whether repeats may go to different machines. Those that stop by what they see stay together
    divisible: bool


def share_out(cases: Sequence[PlannedCase], count: int) -> list[dict[str, tuple[int, ...]]]:
    """Divide cases and repeats into parts that take about as long.

    The longest goes first, to the part that has least to do so far; of several such to one that
    has the case already (longest processing time first, Graham 1969,
    https://doi.org/10.1137/0117039: no part takes longer than 4/3 of what the best division
    does). It depends on its arguments alone, so that each machine finds its own part.
    """
    blocks = [
        (case.repeat_s * len(seeds), place, seeds)
        for place, case in enumerate(cases)
        for seeds in ([(seed,) for seed in case.seeds] if case.divisible else [case.seeds])
    ]
    loads_s = [0.0] * count
    parts: list[dict[int, tuple[int, ...]]] = [{} for _ in range(count)]
    for seconds, place, seeds in sorted(blocks, key=lambda block: (-block[0], *block[1:])):
        lightest = min(range(count), key=lambda at: (loads_s[at], place not in parts[at], at))
        loads_s[lightest] += seconds
        parts[lightest][place] = (*parts[lightest].get(place, ()), *seeds)
    return [{cases[place].name: part[place] for place in sorted(part)} for part in parts]


def recorded_repeat_s(result: Result) -> Mapping[str, float]:
    """Search seconds of one repeat of each recorded case, all arms together."""
    return {
        case.case: fmean(run.search_s for run in case.runs) * len(case.strategies)
        for case in result.cases
        if case.runs
    }
