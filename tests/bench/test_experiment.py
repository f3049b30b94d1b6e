"""The loop over repeats: whatever order things happen in, it comes to the same."""

from __future__ import annotations

import dataclasses
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_ansorbench.bench import RepeatsUntilSettled
from pytest_ansorbench.bench.blocks import Cut, Ended, Wrote
from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage import from_line, machine_difference, read_journal, to_line
from pytest_ansorbench.storage.entries import AbandonedEntry
from tests.bench.conftest import ONE, PLAN, TWO, repeats, session_in
from tests.bench.recorded import OF_BLOCKS, lines_of, machine_of, record
from tests.faults import Doubling

REPEATS = 5


@pytest.fixture(scope="module")
def recorded(target, tmp_path_factory):
    return record(target, tmp_path_factory.mktemp("recorded"), REPEATS)


class Scripted:
    """Hands out recorded entries in whatever order it is told to, cutting blocks short on the way.

    Attributes:
        slots: Blocks at a time.
        most: The most blocks that were ever under way.
        submitted: All blocks, in order.
        cancelled: Seeds of those that were given up.
    """

    target = "llvm"

    def __init__(self, recorded, slots, choices=lambda: 0, cuts=lambda: False):
        self.slots = slots
        self.machine = machine_of(recorded)
        self.most = 0
        self.submitted = []
        self.cancelled = []
        self._lines = recorded[1]
        self._left = {}
        self._choices, self._cuts = choices, cuts

    def session_misfit(self, machine):
        return ""

    def block_misfit(self, machine):
        return machine_difference(machine, self.machine)

    def submit(self, block, watcher):
        self.submitted.append(block)
        self._left[block.seed] = list(self._lines[block.seed][lines_of(block.past) :])
        self.most = max(self.most, len(self._left))
        watcher.note("it begins")
        watcher.advanced(block.seed, RunProgress("one", 1, 0.25, 0.0, 0.0))

    def receive(self):
        seed = sorted(self._left)[self._choices() % len(self._left)]
        if self._left[seed] and self._cuts():
            del self._left[seed]
            return Cut(seed, "its worker is gone")
        if not self._left[seed]:
            del self._left[seed]
            return Ended(seed)
        return Wrote(seed, from_line(self._left[seed].pop(0)))

    def cancel(self):
        self.cancelled += sorted(self._left)
        self._left.clear()

    def finish(self):
        return None

    def close(self):
        pass


def carried_out(executor, plan, folder, past=None):
    """The result, and the journal's entries."""
    with session_in(folder, lambda: executor, past) as session:
        result = session.run(Doubling(), [ONE, TWO], plan)
    return result, read_journal(session.journal).entries


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(slots=st.integers(1, 6), data=st.data())
def test_neither_order_nor_cuts_change_the_result_and_no_line_comes_twice(recorded, slots, data):
    cuts = iter(data.draw(st.lists(st.booleans(), max_size=30)))
    executor = Scripted(
        recorded,
        slots,
        choices=lambda: data.draw(st.integers(0, 5)),
        cuts=lambda: next(cuts, False),
    )
    with tempfile.TemporaryDirectory() as folder:
        result, entries = carried_out(executor, repeats(REPEATS), Path(folder))
    assert result == recorded[0]
    assert executor.most == min(slots, REPEATS)
    lines = {seed: [] for seed in range(REPEATS)}
    for entry in entries:
        if isinstance(entry, OF_BLOCKS):
            lines[entry.seed].append(to_line(entry))
    assert {seed: tuple(of_seed) for seed, of_seed in lines.items()} == recorded[1]


def test_one_at_a_time_they_come_one_after_the_other(recorded, tmp_path):
    executor = Scripted(recorded, 1)
    carried_out(executor, repeats(REPEATS), tmp_path)
    assert [block.seed for block in executor.submitted] == list(range(REPEATS))


def test_what_turns_out_not_to_be_needed_is_given_up(recorded, tmp_path):
    """Where there is no gate five are enough. When four are over, four more are under way."""
    several = record_of(recorded, 8)
    executor = Scripted(several, 8)
    plan = dataclasses.replace(PLAN, repeats=RepeatsUntilSettled(0, Looks(3, 8)))
    result, _ = carried_out(executor, plan, tmp_path)
    assert {run.seed for run in result.runs} == set(range(5))
    assert [block.seed for block in executor.submitted] == [*range(8)]
    assert executor.cancelled == [5, 6, 7]


def record_of(recorded, number):
    """As many repeats, each like the first."""
    lines = tuple(map(from_line, recorded[1][0]))
    return recorded[0], {
        seed: tuple(to_line(dataclasses.replace(one, seed=seed)) for one in lines)
        for seed in range(number)
    }


class Finalized:
    """Something whose finalizer Ctrl-C comes in, where Python drops the exception."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


class Unlucky(Scripted):
    """Ctrl-C comes in the middle of a finalizer, before the third entry."""

    def __init__(self, recorded, slots):
        super().__init__(recorded, slots)
        self.received = 0

    def receive(self):
        self.received += 1
        if self.received == 3:
            Finalized()
        return super().receive()


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_interrupt_is_lost(recorded, tmp_path):
    executor = Unlucky(recorded, slots=2)
    with pytest.raises(KeyboardInterrupt):
        carried_out(executor, repeats(REPEATS), tmp_path)
    assert executor.received == 3
    assert executor.cancelled
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_of_another_machine_is_begun_again(recorded, tmp_path):
    class Interrupting(Scripted):
        def receive(self):
            if len(self._left[0]) == 3:
                raise KeyboardInterrupt
            return super().receive()

    with pytest.raises(KeyboardInterrupt):
        carried_out(Interrupting(recorded, 1), repeats(1), tmp_path)
    [journal] = (tmp_path / "storage" / "journals").iterdir()
    past = read_journal(journal)
    executor = Scripted(recorded, 1)
    executor.machine = {"cpu": "another"}
    result, entries = carried_out(executor, repeats(1), tmp_path, past=past)
    assert executor.submitted[0].past is None
    [abandoned] = [entry for entry in entries if isinstance(entry, AbandonedEntry)]
    assert (abandoned.seed, "cpu" in abandoned.reason) == (0, True)
    assert result.runs == recorded[0].runs[:2]
