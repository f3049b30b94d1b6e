"""The last check: who is compared, who is crowned, what the clock says."""

from __future__ import annotations

import dataclasses
import math
import time

import pytest

from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import LastRanking, Remeasurement, TaskRanking
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.search.last_check import crowned
from pytest_ansorbench.strategies import LastCheck, NoModel, RandomTraces, Strategy
from pytest_ansorbench.workloads import Mlp
from tests.fast_engine import FastEngine
from tests.faults import Doubling
from tests.proposers import scripted
from tests.search.rounds import finished, searching
from tests.strategies.setups import MATMUL

BRIEF = SideBySide(precision=0.0, turns=Span(8, 8), sets=Span(1, 1))
CHECK = LastCheck(top=4, effort=BRIEF)


@dataclasses.dataclass(frozen=True)
class Misleading:
    """The slower a kernel, the faster it looks, but all look nearly the same."""

    spread: float = 100.0
    trial_s: float = 0.0

    def measure(self, kernel, best_s):
        time.sleep(self.trial_s)
        return (1e-3 - kernel.first_call() / self.spread,)


def strategy(check=CHECK, **changes):
    return Strategy(
        "random", proposer=RandomTraces(), cost_model=NoModel(),
        measurement=Misleading(**changes), last_check=check,
    )  # fmt: skip


@pytest.fixture
def engine(target):
    with FastEngine(target) as started:
        yield started


def search(engine, chosen, case=MATMUL, *, trials=8, **options):
    return searching(case, chosen, engine, trials=trials, round_trials=4, **options)


def truth_s(trial):
    """What `Misleading` saw."""
    return (1e-3 - trial.latency_s) * 100.0


def test_the_truly_fastest_of_those_that_looked_best_is_crowned(engine):
    made = search(engine, strategy())
    assert not made.last_check_due
    finished(made)
    assert made.last_check_due
    lucky, searched_s = made.tasks[0].best, made.search_s
    made.rank()
    assert not made.last_check_due
    [ranking] = made.ranking.tasks
    looked = sorted(made.trials, key=lambda trial: trial.latency_s)[:4]
    assert [one.trial for one in ranking.compared] == [trial.index for trial in looked]
    assert [len(one.latencies_s) for one in ranking.compared] == [8] * 4
    assert ranking.crowned == min(looked, key=truth_s).index != lucky.index
    assert made.tasks[0].best.index == ranking.crowned
    assert made.ranking.check_s == pytest.approx(made.search_s - searched_s)
    assert made.ranking.check_s > 0


def test_a_check_is_done_once_and_only_where_it_is_wanted(engine):
    made = search(engine, strategy())
    made.rank()
    assert made.ranking is None
    finished(made)
    made.rank()
    once = made.ranking
    made.rank()
    assert made.ranking is once
    unwanted = search(engine, strategy(None))
    finished(unwanted)
    unwanted.rank()
    assert (unwanted.last_check_due, unwanted.ranking) == (False, None)
    assert unwanted.tasks[0].fastest == []


def test_who_looked_much_slower_is_not_compared(engine):
    made = search(engine, strategy(dataclasses.replace(CHECK, within=0.0)))
    finished(made)
    made.rank()
    assert made.ranking.tasks == ()


def test_equal_programs_are_compared_once(engine):
    chosen = dataclasses.replace(scripted(("fine",) * 4), last_check=CHECK)
    made = search(engine, chosen, Doubling(), trials=4)
    finished(made)
    assert [best.index for best in made.tasks[0].fastest] == [0]
    made.rank()
    assert made.ranking.tasks == ()


def test_without_a_valid_trial_there_is_nothing_to_check(engine):
    chosen = dataclasses.replace(scripted(("wrong",)), last_check=CHECK)
    made = search(engine, chosen, Doubling(), trials=1)
    finished(made)
    made.rank()
    assert made.ranking.tasks == ()
    assert made.tasks[0].best is None


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_network_is_checked_as_long_as_that_costs_little(unbuilding_engine, share):
    case = Mlp(features=24, hidden=(16, 8), classes=5)
    # A search of a second: on a loaded machine, too, three checks of nothing compiled take less.
    unhurried = strategy(dataclasses.replace(CHECK, share=share), trial_s=0.1)
    made = search(unbuilding_engine, unhurried, case, trials=12)
    finished(made)
    contested = [index for index, task in enumerate(made.tasks) if len(task.fastest) > 1]
    assert len(contested) > 1
    made.rank()

    def share_s(index):
        return made.tasks[index].task.weight * made.tasks[index].fastest[0].latency_s

    by_share = sorted(contested, key=share_s, reverse=True)
    assert [ranking.task for ranking in made.ranking.tasks] == by_share[: None if share else 1]


def test_a_resumed_run_is_checked_or_takes_the_check_over(engine):
    made = search(engine, strategy())
    entries = finished(made)
    behind = search(engine, strategy(), resumed=entries)
    assert behind.last_check_due
    behind.rank()
    made.rank()
    assert behind.ranking.tasks == made.ranking.tasks
    again = search(engine, strategy(), resumed=entries, ranking=made.ranking)
    assert not again.last_check_due
    assert again.tasks[0].best.index == made.tasks[0].best.index
    assert again.search_s == pytest.approx(made.search_s)


@pytest.mark.parametrize(("task", "trial"), [(0, 999), (3, 0)])
def test_a_check_of_something_else_is_refused(engine, task, trial):
    compared = (Remeasurement(trial, "ok", (1.0,), sets=(0,), places=(0,)),)
    ranking = TaskRanking(task, compared, trial)
    entries = finished(search(engine, strategy()))
    with pytest.raises(ResumeError, match="last check"):
        search(engine, strategy(), resumed=entries, ranking=LastRanking(1.0, (ranking,)))


def measured(trial, *ratios):
    """A program whose slices are these, in seconds."""
    return Remeasurement(
        trial, "ok", ratios, sets=(0,) * len(ratios), places=tuple(range(len(ratios)))
    )


FAILED = Remeasurement(9, "run-error", (), "died")


@pytest.mark.parametrize(
    ("compared", "winner"),
    [
        ([measured(0, *[1.0] * 8), measured(1, *[0.9] * 8), measured(2, *[0.8] * 8)], 2),
        ([measured(0, *[1.0] * 8), measured(1, *[1.1] * 8)], 0),
        ([measured(0, *[1.0] * 8), measured(1, *[0.9, 1.1] * 4)], 0),
        ([measured(0, *[1.0] * 3), measured(1, *[0.5] * 3)], 0),
        ([FAILED, measured(0, *[1.0] * 8), measured(1, *[0.9] * 8)], 1),
        ([measured(0, *[1.0] * 8), FAILED], 0),
        ([FAILED, FAILED], 9),
    ],
    ids=["faster", "slower", "tie", "too few", "best failed", "other failed", "all failed"],
)
def test_only_who_is_clearly_faster_than_the_best_trial_is_crowned(compared, winner):
    assert crowned(compared) == winner


def test_what_slows_a_turn_decides_nothing():
    speeds = [math.exp(math.sin(turn)) for turn in range(10)]
    one, other = measured(0, *speeds), measured(1, *[0.97 * speed for speed in speeds])
    assert crowned([one, other]) == 1
