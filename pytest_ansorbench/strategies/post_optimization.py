"""TVM's post-optimization inside the budget, as a control."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.errors import StrategyError, require_at_least, require_method
from pytest_ansorbench.strategies.program_maker import ProgramMaker, ScheduledProgram
from pytest_ansorbench.strategies.proposer import Observation, Proposer, ProposerPolicy, Setup
from pytest_ansorbench.strategies.stock_search import StockEvolution

# What TVM takes a program for that cannot be made, and one that cannot be run, in seconds.
_NO_PROGRAM: Final = 1e4
_FAILED: Final = 1e10
_PAYLOAD: Final = "post-optimization"


@dataclass(frozen=True)
class PostOptimization:
    """A search, and then `tune_tir(..., post_optimization=True)` from the fastest of its programs.

    TVM runs its `Droplet` (arXiv:2406.20037) after a search, in 100 trials that no budget counts,
    with a builder and a runner of its own. Here its class says which programs come next, and they
    are measured as all others are. What it would measure twice is measured once. It begins early
    where the search finds nothing more. A task whose descent has ended gives the rest of its trials
    back.

    Attributes:
        first: The search.
        trials: Of the descent, as many as TVM's, but at most half of a task's.
    """

    first: ProposerPolicy = field(default_factory=StockEvolution)
    trials: int = 100

    def __post_init__(self) -> None:
        require_method(self, "first", "start", example="StockEvolution()")
        require_at_least(self, 1, "trials")

    def start(self, setup: Setup) -> Proposer:
        """Start the search.

        Raises:
            StrategyError: A run time ends the run: there is no telling when to begin the descent.
        """
        if setup.run_time_s is not None:
            raise StrategyError(
                f"bad run time {setup.run_time_s:g} s: PostOptimization begins its descent after a "
                "number of trials; expected a budget of trials alone, e.g. 128"
            )
        return _PostOptimization(self, setup)


class _PostOptimization:
    def __init__(self, policy: PostOptimization, setup: Setup) -> None:
        trials = setup.budget_trials // setup.tasks
        self._left = trials - min(policy.trials, trials // 2)
        self._first = policy.first.start(setup)
        self._setup = setup
        self._fastest: Observation | None = None
        # Seconds of each measured program, by its fingerprint.
        self._known: dict[int, list[float]] = {}
        self._descent: _Descent | None = None

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        if self._left > 0 or self._fastest is None:
            found = self._first.propose(trials)
            if found:
                return found[: self._left] if self._left > 0 else found
            if self._fastest is None:
                return found
            self._left = 0
        if self._descent is None:
            self._descent = _Descent(self._fastest, self._setup, self._known)
        programs = self._descent.unknown()
        return [one.candidate(_PAYLOAD) for one in programs[:trials]] or None

    def recall(self, candidates: Sequence[Candidate]) -> None:
        self._first.recall([one for one in candidates if one.payload != _PAYLOAD])

    def learn(self, batch: Sequence[Observation]) -> None:
        searched = [seen for seen in batch if seen.candidate.payload != _PAYLOAD]
        for seen in batch:
            self._known[seen.candidate.fingerprint] = _seconds(seen) or [_FAILED]
        # A descent that an interrupted run had begun goes on.
        self._left = self._left - len(searched) if len(searched) == len(batch) else 0
        best = max(searched, key=lambda seen: seen.gflops, default=None)
        if best is not None and best.gflops > (self._fastest.gflops if self._fastest else 0.0):
            self._fastest = best
        if searched:
            self._first.learn(searched)

    def decisions(self) -> Mapping[str, Any]:
        return self._first.decisions() if self._descent is None else {"post-optimization": True}


def _seconds(seen: Observation) -> list[float]:
    """Of its samples; none if it failed."""
    assert seen.result is not None  # programs are measured, not looked up
    return [float(one) for one in seen.result.run_secs or ()]


class _Descent:
    """TVM's `Droplet`, asked where it goes next; all it knows is what was measured."""

    def __init__(self, start: Observation, setup: Setup, known: Mapping[int, list[float]]) -> None:
        from tvm.s_tir.meta_schedule.database import TuningRecord, Workload
        from tvm.s_tir.meta_schedule.post_optimization import Droplet

        self._known = known
        self._maker = ProgramMaker(setup.context)
        self._workload = Workload(self._maker.mod)
        record = TuningRecord(
            start.candidate.trace,
            self._workload,
            _seconds(start),
            setup.context.target,
            start.candidate.args_info,
        )
        template = json.loads(json.dumps([0, record.as_json()]))
        with tempfile.TemporaryDirectory() as folder:
            self._droplet: Any = Droplet(
                template, self._workload.as_json(), setup.context.target, str(Path(folder, "log"))
            )
        self._droplet.speculation()
        self._programs = self._next()

    def unknown(self) -> list[ScheduledProgram]:
        """The next programs to measure, none twice; none when the descent has ended."""
        while self._droplet.has_next():
            programs = {one.fingerprint: one for one in self._programs if one is not None}
            unknown = [one for key, one in programs.items() if key not in self._known]
            if unknown:
                return unknown
            self._droplet.update(
                [
                    [_NO_PROGRAM] if one is None else self._known[one.fingerprint]
                    for one in self._programs
                ]
            )
            self._programs = self._next()
        return []

    def _next(self) -> list[ScheduledProgram | None]:
        return self._maker.map(self._program, [position for _, position in self._droplet.next])

    def _program(self, position: Sequence[int]) -> ScheduledProgram | None:
        from tvm.s_tir.meta_schedule.database import TuningRecord

        template = self._droplet.space.template(values=position, create=False)
        try:
            trace = TuningRecord.from_json(template, self._workload).trace
        except Exception:  # as Droplet, whose layouts are sometimes none
            return None
        return self._maker.replay(trace, 1)
