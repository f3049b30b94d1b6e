"""What networks take while cores exchange data fast, and while their host has them farther apart.

    python benchmarks/exchange.py [FILE ...] [--against LIBRARY] [--sets N]

FILE: a result that `benchmarks/tuned.py` has kept; all of docs/results/tuned/ with seed 0 by
default. Each network is measured in turn with another library, one set of processes after another,
and before and after each set cores exchange data. Rows are of sets with a fast exchange, with one a
third slower than the fastest, and of sets in which that changed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from tabulate import tabulate
from tuned import as_tuned, kept_results, with_winners

from pytest_ansorbench.bench.prepared import Network, PreparedCase
from pytest_ansorbench.bench.yardsticks import YardstickPlan
from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.exchange_probe import observe_exchange
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.untuned import network_check
from pytest_ansorbench.report.conditions import MOVED
from pytest_ansorbench.sessions import engine_of
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.tuning import settings_of
from pytest_ansorbench.workloads.case import Check

EFFORT: Final = SideBySide(precision=0.01, turns=Span(15, 30), sets=Span(1, 1))
HEADERS: Final = (
    "network",
    "seed",
    "exchange",
    "sets",
    "GB/s a core",
    "ms",
    "ms of the other",
    "ratio",
)


class Duel(NamedTuple):
    """A network as it was tuned with a seed, and the same in the other library."""

    name: str
    seed: int
    programs: tuple[Buildable, Buildable]
    check: Check


class Set(NamedTuple):
    """One set of processes: the exchange before and after, in bytes/s, and latencies in s."""

    before: float
    after: float
    own_s: float
    other_s: float


def main() -> None:
    """Print the table; each set is told on standard error."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--against", default="openvino", metavar="LIBRARY")
    parser.add_argument("--sets", type=int, default=16)
    given = parser.parse_args()
    files = given.files or kept_results()
    found: dict[tuple[str, int], list[Set]] = defaultdict(list)
    with engine_of(settings_of({})) as engine, tempfile.TemporaryDirectory() as folder:
        duels = [duel(file, given.against, engine, Path(folder)) for file in files]
        # A set of each network after one of the other, so that they meet the same moments.
        for _ in range(given.sets):
            for one in duels:
                found[one.name, one.seed].append(latest := one_set(engine, one))
                print(one.name, one.seed, *latest, file=sys.stderr, flush=True)
    decimals = ("", "", "", "", ".1f", ".2f", ".2f", ".2f")
    print(tabulate([*rows(found)], HEADERS, floatfmt=decimals))


def duel(file: Path, against: str, engine: Engine, folder: Path) -> Duel:
    """The network of a result with its winners, and the other library's."""
    [case] = read_result(file).cases
    [run] = case.runs
    folder = folder / f"{case.case}-{run.seed}"
    folder.mkdir()
    network = as_tuned(case.case, folder)
    tasks, mod = tuple(network.tasks()), network.program()
    untuned = Network(mod, *network_check(engine, network, mod, tasks))
    [peer] = YardstickPlan(implementations=(against,)).peers(
        PreparedCase(network, tasks, untuned), engine, folder
    )
    own = Program.network(with_winners(case, network))
    return Duel(case.case, run.seed, (own, peer.program), untuned.check)


def one_set(engine: Engine, one: Duel) -> Set:
    """Measure both in one set of processes, and the exchange before and after."""
    before = observe_exchange(engine)
    own, other = engine.measure_side_by_side(one.programs, one.check, EFFORT)
    after = observe_exchange(engine)
    if own.latency_s is None or other.latency_s is None or before is None or after is None:
        raise SystemExit(own.error or other.error or "no exchange was measured")
    return Set(before, after, own.latency_s, other.latency_s)


def rows(found: Mapping[tuple[str, int], Sequence[Set]]) -> Iterator[tuple[Any, ...]]:
    """The rows of each network; latencies in ms, and the other's over its own."""
    fastest = max(rate for sets in found.values() for one in sets for rate in one[:2])
    for (name, seed), sets in found.items():
        kinds: dict[str, list[Set]] = defaultdict(list)
        for one in sets:
            are_fast = {rate * MOVED >= fastest for rate in one[:2]}
            kind = "changed" if len(are_fast) > 1 else "fast" if True in are_fast else "slow"
            kinds[kind].append(one)
        for kind, some in sorted(kinds.items()):
            yield (
                name,
                seed,
                kind,
                len(some),
                median(one.before for one in some) / 1e9,
                1e3 * median(one.own_s for one in some),
                1e3 * median(one.other_s for one in some),
                median(one.other_s / one.own_s for one in some),
            )


if __name__ == "__main__":
    main()
