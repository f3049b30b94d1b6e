"""Collects samples: tunes a workload, then mutates programs of all kinds by every rule."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import (
    POOLED,
    Evolution,
    ProgramMaker,
    Proposer,
    ScheduledProgram,
    Setup,
    Strategy,
    XGBoostModel,
    draw_seed,
    extract,
    extractor_of,
    mutate,
    pool,
    stock_weights,
    undecided,
)
from pytest_ansorbench.training.dataset import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.case import Case, Task


_BATCH: Final = 512
"""Candidates whose features are held in memory at a time."""


@dataclass(frozen=True)
class Effort:
    """How much is collected from each workload.

    Attributes:
        trials: Measured to train the workload's cost model, whose scores make the labels.
        round_trials: Trials a round of that search.
        programs: Programs to mutate: half of them drawn at random and the best measured ones,
            half of them bred from these as a search does.
        draws: Mutations of each program by each rule.
        checked: Programs that are measured, with a mutant of each rule.
    """

    trials: int = 96
    round_trials: int = 32
    programs: int = 160
    draws: int = 4
    checked: int = 6

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise ValueError(f"bad {name} {value}: expected at least 1, e.g. 4")


class Collector:
    """Collects samples of workloads, one after the other, on one engine."""

    def __init__(self, engine: Engine, effort: Effort, *, seed: int) -> None:
        self._engine = engine
        self._effort = effort
        self._seed = seed

    @property
    def settings(self) -> str:
        """How samples are collected; what was collected otherwise cannot be mixed in."""
        parts = {**asdict(self._effort), "seed": self._seed, "target": str(self._engine.target)}
        return ", ".join(f"{name}={value}" for name, value in parts.items())

    def collect(self, case: Case) -> Samples:
        """Collect the samples of one workload, a case of one task."""
        [task] = case.tasks()
        setup, best_s = self._tuned(case, task)
        table = _Mutations(setup, self._effort, random.Random(self._seed))
        checked = table.worth_checking(self._effort.checked)
        parent_s, mutant_s = self._measured(task, table, checked)
        return Samples(
            case=case.id,
            settings=self.settings,
            rules=table.rules,
            weights=table.weights,
            features=table.features,
            scores=table.scores,
            mutant_scores=table.mutant_scores,
            inapplicable=table.inapplicable,
            checked=np.asarray(checked, np.int64),
            parent_s=parent_s,
            mutant_s=mutant_s,
            best_s=best_s,
        )

    def _tuned(self, case: Case, task: Task) -> tuple[Setup, float]:
        """Search, and keep the setup with its database and trained cost model."""
        witness = Witness(Evolution(population=128, generations=2, blind_generations=0))
        search = Search(
            case,
            [task],
            Strategy("collect", witness, cost_model=XGBoostModel(self._effort.round_trials)),
            self._engine,
            seed=self._seed,
            budget_trials=self._effort.trials,
            round_trials=self._effort.round_trials,
        )
        while not search.finished:
            search.step()
        assert witness.setup is not None
        return witness.setup, task.flops / (search.best_gflops * 1e9 or np.nan)

    def _measured(
        self, task: Task, table: _Mutations, checked: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latencies of some programs, and of a mutant of each by each rule."""
        parents = [table.programs[index] for index in checked]
        mutants = [table.first_mutants[index] for index in checked]
        latencies = self._latencies(task, [*parents, *itertools.chain.from_iterable(mutants)])
        count = len(parents)
        return latencies[:count], latencies[count:].reshape(count, len(table.rules))

    def _latencies(
        self, task: Task, programs: Sequence[ScheduledProgram | None]
    ) -> NDArray[np.float64]:
        latencies = np.full(len(programs), np.nan)
        there = [(index, program) for index, program in enumerate(programs) if program is not None]
        for start in range(0, len(there), self._engine.capacity):
            batch = there[start : start + self._engine.capacity]
            candidates = [program.candidate() for _, program in batch]
            kernels = [
                Program.kernel(candidate.mod, candidate.args_info) for candidate in candidates
            ]
            built = self._engine.build(kernels, task.check)
            for (index, _), kernel in zip(batch, built, strict=True):
                outcome = self._engine.run(kernel, FixedMeasurement())
                if outcome.status == "ok":
                    latencies[index] = float(np.median(outcome.latencies_s))
        return latencies


@dataclass
class Witness:
    """A proposer policy that lets its run's setup be seen."""

    inner: Evolution
    setup: Setup | None = None

    def start(self, setup: Setup) -> Proposer:
        """The proposer of the policy inside."""
        self.setup = setup
        return self.inner.start(setup)


class _Mutations:
    """Programs of one task, and the mutants that every rule makes of them."""

    def __init__(self, setup: Setup, effort: Effort, source: random.Random) -> None:
        weights = stock_weights(setup.context)
        self._setup = setup
        self._source = source
        self._maker = ProgramMaker(setup.context)
        self._mutators = list(setup.context.space_generator.mutator_probs)
        self.rules = tuple(weights)
        self.weights = np.array([*weights.values()])
        self.programs = self._bred(effort.programs)
        self.features, self.scores = self._seen(self.programs)
        self._mutate_all(effort.draws)

    def worth_checking(self, count: int) -> list[int]:
        """Some programs among the better half, whose mutants matter to a search."""
        better = np.argsort(-self.scores)[: max(1, len(self.scores) // 2)]
        return sorted(self._source.sample([int(i) for i in better], min(count, len(better))))

    def _bred(self, count: int) -> list[ScheduledProgram]:
        """Half drawn and measured programs, half mutants of these, parents drawn by score."""
        setup, source = self._setup, self._source
        workload = setup.database.commit_workload(setup.context.mod)
        best = setup.database.get_top_k(workload, count // 6)
        first = self._maker.recall([record.trace for record in best])
        sketches = undecided(setup.sketches)
        drawn = [sketches[i % len(sketches)] for i in range(count // 2 - len(first))]
        first += self._maker.sample(drawn, [draw_seed(source) for _ in drawn])
        _, scores = self._seen(first)
        parents = source.choices(first, [float(score) + 1e-6 for score in scores], k=count // 2)
        rules = source.choices(range(len(self.rules)), [*self.weights], k=len(parents))
        seeds = [(draw_seed(source), draw_seed(source)) for _ in parents]
        bred = self._maker.map(self._mutant, list(zip(parents, rules, seeds, strict=True)))
        return first + [child for child, _ in bred if child is not None]

    def _mutant(
        self, job: tuple[ScheduledProgram, int, tuple[int, int]]
    ) -> tuple[ScheduledProgram | None, bool]:
        """A mutant, if it is valid; and whether the rule found anything to change."""
        parent, rule, (rule_seed, replay_seed) = job
        trace = mutate(self._mutators[rule], parent.schedule.trace, rule_seed)
        if trace is None:
            return None, False
        return self._maker.replay(trace, replay_seed), True

    def _mutate_all(self, draws: int) -> None:
        shape = (len(self.programs), len(self.rules), draws)
        jobs = [
            (self.programs[program], rule, (draw_seed(self._source), draw_seed(self._source)))
            for program, rule, _ in np.ndindex(shape)
        ]
        outcomes = self._maker.map(self._mutant, jobs)
        applied = np.array([found for _, found in outcomes]).reshape(shape)
        self.inapplicable = (~applied).sum(axis=2).astype(np.int64)
        valid = [program for program, _ in outcomes if program is not None]
        scores = np.full(len(jobs), np.nan, np.float32)
        scores[[program is not None for program, _ in outcomes]] = self._seen(valid)[1]
        self.mutant_scores = scores.reshape(shape)
        programs = [program for program, _ in outcomes]
        first = [
            next((program for program in programs[start : start + draws] if program), None)
            for start in range(0, len(programs), draws)
        ]
        rules = len(self.rules)
        self.first_mutants = [first[i : i + rules] for i in range(0, len(first), rules)]

    def _seen(
        self, programs: Sequence[ScheduledProgram]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Pooled features and scores."""
        context, model = self._setup.context, self._setup.cost_model
        assert model is not None
        features, scores = [np.zeros((0, POOLED), np.float32)], [np.zeros(0, np.float32)]
        for start in range(0, len(programs), _BATCH):
            batch = [
                program.candidate().measure_candidate
                for program in programs[start : start + _BATCH]
            ]
            scores.append(np.maximum(model.predict(context, batch), 0.0).astype(np.float32))
            features.append(pool(extract(extractor_of(model), context, batch)))
        return np.concatenate(features), np.concatenate(scores)
