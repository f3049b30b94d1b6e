"""Sessions that are cut after each line of their journal come to the same verdicts, byte by byte.

    python benchmarks/faults/resumes.py [--into FILE] [--trials 2000] [--seed 1]

Each session is drawn: rounds, repeats, sets, a strategy with a last check or without, candidates
that are right, wrong, slow or do not compile. It runs on the engine of the tests, whose latencies
follow from the programs, and by a clock that ticks at each look, so that nothing of it depends on
the machine. Then, for each line of its journal, a copy that ends there is resumed: the result has
to have the same bytes, verdicts and gates included, and the journal the same lines.

Strategies that draw from TVM's own generator go on with other numbers than they would have drawn,
and are none of this campaign's.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from ledger import SURVIVED, Ledger, Outcome, draws

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pytest_ansorbench.bench import (  # noqa: E402
    FixedRepeats,
    LocalExecutor,
    Plan,
    RunPlan,
    Session,
    Site,
)
from pytest_ansorbench.budget import Budget, Trials  # noqa: E402
from pytest_ansorbench.codec import to_json  # noqa: E402
from pytest_ansorbench.environment import resolve_target  # noqa: E402
from pytest_ansorbench.measure.intrinsics import register_intrinsics  # noqa: E402
from pytest_ansorbench.measure.side_by_side import SideBySide, Span  # noqa: E402
from pytest_ansorbench.search import loop  # noqa: E402
from pytest_ansorbench.search.run_state import Clock  # noqa: E402
from pytest_ansorbench.stats.criteria import Criteria  # noqa: E402
from pytest_ansorbench.stats.limits import Limits  # noqa: E402
from pytest_ansorbench.storage import read_journal  # noqa: E402
from pytest_ansorbench.strategies import LastCheck, Strategy  # noqa: E402
from tests.fast_engine import FastEngine  # noqa: E402
from tests.faults import Doubling  # noqa: E402
from tests.proposers import scripted  # noqa: E402

CAMPAIGN: Final = "resumes"
TICK_S: Final = 2.0**-10
"""Sums of it are exact in any order."""
KINDS: Final = ("fine", "fine", "slow", "wrong", "unbuildable")


class Ticking:
    """A clock that goes on at each look, and by nothing else."""

    def __init__(self) -> None:
        self._looks = itertools.count()

    def __call__(self) -> float:
        return next(self._looks) * TICK_S


class Drawn:
    """What is drawn of one session."""

    def __init__(self, rng: random.Random) -> None:
        rounds, trials = rng.randint(1, 4), rng.randint(1, 3)
        self.arms = tuple(self._arm(rng, name, rounds, trials) for name in ("one", "two"))
        self.plan = Plan(
            runs=RunPlan(
                budget=Budget(Trials(rounds * trials), trials),
                scheduler="gradient",
                final=SideBySide(turns=Span(3, 3), sets=Span(2, rng.randint(2, 3))),
                progress=rng.choice(["confirmed", "believed"]),
            ),
            repeats=FixedRepeats(range(rng.randint(1, 3))),
            criteria=Criteria(),
            limits=Limits(),
        )

    @staticmethod
    def _arm(rng: random.Random, name: str, rounds: int, trials: int) -> Strategy:
        # The first of all is right, so that there is a winner.
        kinds = ["fine", *rng.choices(KINDS, k=rounds * trials - 1)]
        drawn = [tuple(kinds[at : at + trials]) for at in range(0, len(kinds), trials)]
        check = rng.choice([None, LastCheck()])
        return replace(scripted(*drawn, name=name), last_check=check)


def main() -> int:
    """Cut, until it is enough."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("resumes.jsonl"))
    parser.add_argument("--trials", type=int, default=2000, help="cuts (default: 2000)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    ledger = Ledger(given.into)
    register_intrinsics(resolve_target(None))
    index = 0
    for session in itertools.count():
        if index >= given.trials:
            return 0
        for outcome in cuts(given.seed, session, index, given.trials - index):
            index += 1
            if outcome.index not in ledger.done:
                ledger.add(outcome)
            if outcome.verdict != SURVIVED:
                print(f"{outcome.index}: {outcome.what}: {outcome.told}", flush=True)


def cuts(seed: int, session: int, first: int, most: int) -> Iterator[Outcome]:
    """Resume one session from each of its lines, and compare what it comes to."""
    drawn = Drawn(draws(seed, session))
    with tempfile.TemporaryDirectory() as folder:
        path, whole = carried_out(Path(folder), drawn, None)
        lines = path.read_bytes().splitlines(keepends=True)
        for kept in range(1, min(most, len(lines)) + 1):
            began_s = time.perf_counter()
            cut = path.with_name(f"{1000 + kept}.jsonl")
            cut.write_bytes(b"".join(lines[:kept]))
            told = ""
            try:
                _, again = carried_out(Path(folder), drawn, cut)
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
            else:
                told = difference(whole, again) or difference(
                    lines, cut.read_bytes().splitlines(keepends=True)
                )
            yield Outcome(
                CAMPAIGN,
                first + kept - 1,
                seed,
                f"session {session}, cut after line {kept} of {len(lines)}",
                "fault" if told else SURVIVED,
                told,
                round(time.perf_counter() - began_s, 3),
            )


def carried_out(folder: Path, drawn: Drawn, past: Path | None) -> tuple[Path, list[bytes]]:
    """Carry a session out, or go on with it.

    Returns:
        Its journal, and the lines of its result.
    """
    session = Session(
        new_executor=lambda: LocalExecutor(Site(FastEngine(resolve_target(None)), storage=folder)),
        conditions={},
        root=folder,
        storage=folder / "storage",
        settings={},
        past=None if past is None else read_journal(past),
    )
    tick = Ticking()
    ticking: Any = lambda *arguments, **options: Clock(tick, **options)  # noqa: E731
    with (
        patch("time.perf_counter", tick),
        patch("time.monotonic", tick),
        patch.object(loop, "Clock", ticking),
    ):
        try:
            result = session.run(Doubling(), drawn.arms, drawn.plan)
        finally:
            session.close()
    assert session.journal is not None
    text = json.dumps(to_json(result), indent=1)
    return session.journal, text.encode().splitlines(keepends=True)


def difference(whole: list[bytes], again: list[bytes]) -> str:
    """The first line in which two texts differ; empty if they are equal."""
    for number, (one, other) in enumerate(itertools.zip_longest(whole, again, fillvalue=b""), 1):
        if one != other:
            at = next((i for i in range(len(one)) if one[: i + 1] != other[: i + 1]), len(one))
            around = slice(max(0, at - 60), at + 60)
            return f"line {number}: {one[around]!r} is {other[around]!r}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
