"""Cases, strategies and plans that a repeat takes a tenth of a second for."""

from __future__ import annotations

import dataclasses
import signal
from contextlib import contextmanager

import pytest

from pytest_ansorbench.bench import (
    FixedRepeats,
    LocalExecutor,
    Plan,
    RunPlan,
    Session,
    Site,
    YardstickPlan,
)
from pytest_ansorbench.bench.prepared import PreparedCase
from pytest_ansorbench.budget import Budget, Trials
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Limits
from tests.fast_engine import FastEngine
from tests.faults import Doubling
from tests.proposers import scripted

FINE = ("fine", "fine")
ONE = scripted(FINE, FINE, name="one")
TWO = scripted(FINE, FINE, name="two")
RUNS = RunPlan(
    budget=Budget(Trials(4), 2),
    scheduler="gradient",
    final=SideBySide(turns=Span(3, 3), sets=Span(2, 2)),
)
PLAN = Plan(runs=RUNS, repeats=FixedRepeats(range(2)), criteria=Criteria(), limits=Limits())

NO_YARDSTICKS = YardstickPlan()


def repeats(number, first=0):
    """The plan with another number of repeats, or other seeds."""
    return dataclasses.replace(PLAN, repeats=FixedRepeats(range(first, first + number)))


@contextmanager
def session_in(folder, new_executor, past=None):
    """A session all of whose files are in one folder."""
    session = Session(
        new_executor=new_executor,
        conditions={},
        root=folder,
        storage=folder / "storage",
        settings={},
        past=past,
    )
    try:
        yield session
    finally:
        session.close()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Another(Doubling):
    """The same under another name."""

    id = "another"


@pytest.fixture(scope="session")
def prepared():
    """An operator, ready to be run."""
    return PreparedCase(Doubling(), Doubling().tasks())


@pytest.fixture
def engine(target):
    with FastEngine(target) as started:
        yield started


@pytest.fixture
def make_session(target, tmp_path):
    """Makes sessions on a fast engine, all in one storage folder."""
    made = []

    def make(engine=None, *, noise_check_s=0.0, yardsticks=NO_YARDSTICKS, **changes):
        engine = engine or FastEngine(target)
        site = Site(
            engine,
            storage=tmp_path / "storage",
            noise_check_s=noise_check_s,
            yardsticks=yardsticks,
        )
        session = Session(
            **{
                "new_executor": lambda: LocalExecutor(site),
                "conditions": {"check": "winners"},
                "root": tmp_path,
                "storage": tmp_path / "storage",
                "settings": {"trials": 4},
                **changes,
            }
        )
        made.append(session)
        return session

    yield make
    for session in made:
        session.close()


@pytest.fixture
def ctrl_c():
    """Ctrl-C as it usually is, also in a suite that runs in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
