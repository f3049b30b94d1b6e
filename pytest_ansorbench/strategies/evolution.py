"""Evolutionary search, step by step as MetaSchedule's, with policies where it draws at random."""

from __future__ import annotations

import heapq
import random
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.strategies.checks import require_at_least, require_share
from pytest_ansorbench.strategies.cost_model import is_blind
from pytest_ansorbench.strategies.features import extract, extractor_of
from pytest_ansorbench.strategies.programs import (
    Mutation,
    Program,
    ProgramMaker,
    as_candidate,
    draw_seed,
    mutate,
    undecided,
)
from pytest_ansorbench.strategies.rule_ledger import Attempt, RuleLedger
from pytest_ansorbench.strategies.rule_policy import (
    BY_WEIGHT,
    RulePolicy,
    StockRules,
    stock_weights,
)
from pytest_ansorbench.strategies.sketch_policy import SketchPolicy, UniformSketches
from pytest_ansorbench.strategies.strategy import Observation, Proposer, Setup

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

_MAX_SAMPLINGS: Final = 5
"""How often a population without a single valid new program is drawn again, as in the engine."""


@dataclass(frozen=True)
class Evolution:
    """Evolutionary search with a say in sketches, rules and how much there is to search.

    A round goes as in MetaSchedule's `EvolutionarySearch`
    (src/s_tir/meta_schedule/search_strategy/evolutionary_search.cc), whose values are the
    defaults: the best measured programs and new ones make a population; over some generations
    parents are drawn by the cost model's score and mutated; of all programs seen and not measured
    before, those with the best scores are proposed, with a few new ones picked at random. With
    `UniformSketches` and `StockRules` it proposes like the engine and takes as long.

    It differs from the engine where nothing is to be gained by being alike: which thread
    comes first decides nothing, so that equal seeds and measurements give equal proposals; a
    program is scored once a round, not once a generation; and a mutation that fails is tried
    again as a mutation, never as a survival.

    Attributes:
        sketches: Shares the new part of the population out among the sketches.
        rules: Chooses the mutation rule of each program.
        population: Programs of a generation.
        generations: Times a population is bred from.
        blind_generations: The same while the cost model still answers at random. With 0 there
            is no genetic search then: as many new programs are drawn as are wanted.
        measured_share: Share of the population that the best measured programs may take.
        mutation_share: Share of the offspring that is mutated; the rest survives as it is.
        rule_share: Share of the mutations whose rule is the chosen one; the rest is drawn by the
            stock weights, so that a program which is mutated again and again is not always
            mutated alike.
        random_share: Share of a round's trials that is picked at random from the new programs.
        min_unmeasured: New programs are drawn until there are so many; if drawing comes to
            nothing before, the space is exhausted.
        max_tries: How often a mutation that fails is tried again.
    """

    sketches: SketchPolicy = field(default_factory=UniformSketches)
    rules: RulePolicy = field(default_factory=StockRules)
    population: int = 512
    generations: int = 4
    blind_generations: int = 4
    measured_share: float = 0.2
    mutation_share: float = 0.85
    rule_share: float = 1.0
    random_share: float = 0.05
    min_unmeasured: int = 50
    max_tries: int = 10

    def __post_init__(self) -> None:
        for name, least in (
            ("population", 1),
            ("generations", 0),
            ("blind_generations", 0),
            ("min_unmeasured", 1),
            ("max_tries", 0),
        ):
            require_at_least(self, name, least, example=getattr(type(self), name))
        for name in ("measured_share", "mutation_share", "rule_share", "random_share"):
            require_share(self, name, example=getattr(type(self), name))

    def start(self, setup: Setup) -> Proposer:
        """The live search of one run."""
        return _Evolution(self, setup)


class _Evolution:
    def __init__(self, policy: Evolution, setup: Setup) -> None:
        self._policy = policy
        self._setup = setup
        self._maker = ProgramMaker(setup.context)
        self._sketches = undecided(setup.sketches)
        self._workload = setup.database.commit_workload(setup.context.mod)
        self._mutators = list(setup.context.space_generator.mutator_probs)
        self._extractor = extractor_of(setup.cost_model)
        rules = stock_weights(setup.context)
        self._cumulative_weights = list(accumulate(rules.values()))
        self._sketch_chooser = policy.sketches.start(len(self._sketches))
        self._rule_chooser = policy.rules.start(rules)
        self._ledger = RuleLedger(list(rules))
        self._proposed: set[int] = set()

    def propose(self, trials: int) -> Sequence[MeasureCandidate] | None:
        policy = self._policy
        blind = is_blind(self._setup.cost_model)
        generations = policy.blind_generations if blind else policy.generations
        self._ledger.start_round(generations)
        if generations:
            measured = self._best_measured(int(policy.population * policy.measured_share))
            new = self._sample(policy.population - len(measured), policy.min_unmeasured)
            if len(new) < policy.min_unmeasured:
                return None
        else:
            measured, new = [], self._sample(trials, 1)
            if not new:
                return None
        # What is to be picked at random: all of it if nothing is searched for.
        randoms = int(trials * policy.random_share) if generations else trials
        best = self._evolve([*measured, *new], generations, max(1, trials - randoms))
        shuffled = [new[i] for i in self._setup.rng.permutation(len(new))]
        candidates = best[: trials - randoms] + shuffled + best[trials - randoms :]
        picks: list[Program] = []
        for program in candidates:
            if len(picks) < trials and program.fingerprint not in self._proposed:
                self._proposed.add(program.fingerprint)
                picks.append(program)
        if not blind:  # nothing was expected of programs with random scores
            self._ledger.propose(picks)
        return [as_candidate(program.schedule) for program in picks]

    def recall(self, candidates: Sequence[MeasureCandidate]) -> None:
        from tvm_ffi import structural_hash

        self._proposed |= {structural_hash(candidate.sch.mod) for candidate in candidates}

    def learn(self, batch: Sequence[Observation]) -> None:
        gflops = [seen.gflops for seen in batch]
        self._sketch_chooser.observe([seen.sketch for seen in batch], gflops)
        self._ledger.observe(gflops)

    def decisions(self) -> Mapping[str, Any]:
        return {**self._sketch_chooser.decisions(), **self._ledger.decisions()}

    def _best_measured(self, count: int) -> list[Program]:
        records = self._setup.database.get_top_k(self._workload, count)
        return self._maker.recall([record.trace for record in records])

    def _sample(self, count: int, least: int) -> list[Program]:
        """New programs, drawn until there are at least so many, or nothing comes of it."""
        programs: list[Program] = []
        source = random.Random(int(self._setup.rng.integers(2**63)))
        failures = 0
        while len(programs) < least and failures < _MAX_SAMPLINGS:
            counts = self._setup.rng.multinomial(count, self._sketch_chooser.shares())
            sketches = [
                sketch
                for sketch, wanted in zip(self._sketches, counts, strict=True)
                for _ in range(wanted)
            ]
            drawn = self._maker.sample(sketches, [draw_seed(source) for _ in sketches])
            failures += not drawn
            programs += drawn
        return programs

    def _evolve(self, population: list[Program], generations: int, wanted: int) -> list[Program]:
        """The best programs of all generations that were not proposed before, best first."""
        if not generations:
            return []
        found: dict[int, Program] = {}
        for generation in range(generations + 1):
            self._score(population)
            for program in population:
                if program.fingerprint not in self._proposed:
                    found.setdefault(program.fingerprint, program)
            if generation < generations:
                population = self._next_generation(population)
        return heapq.nlargest(wanted, found.values(), key=lambda program: program.score or 0.0)

    def _score(self, population: Sequence[Program]) -> None:
        """Have cost model and rule policy look at each program, once."""
        unscored = [program for program in population if program.score is None]
        if not unscored:
            return
        context, model = self._setup.context, self._setup.cost_model
        candidates = [as_candidate(program.schedule) for program in unscored]
        assert model is not None
        scores = np.maximum(model.predict(context, candidates), 0.0)
        rules = self._rule_chooser.choose(
            len(unscored),
            lambda: extract(self._extractor, context, candidates),
        )
        for program, score, rule in zip(unscored, scores, rules, strict=True):
            program.score, program.next_rule = float(score), int(rule)
        if not is_blind(model):
            self._ledger.score(unscored)

    def _next_generation(self, parents: Sequence[Program]) -> list[Program]:
        """Offspring of parents drawn by score: most of it mutated, the rest as it was."""
        policy, rng = self._policy, self._setup.rng
        draw = _weighted([parent.score or 0.0 for parent in parents])
        source = random.Random(int(rng.integers(2**63)))
        kept: list[Program] = []
        survived: set[int] = set()
        mutations: list[tuple[int, random.Random]] = []
        for _ in range(policy.population):
            for _ in range(policy.max_tries + 1):
                parent = draw(source)
                if source.random() < policy.mutation_share:
                    mutations.append((parent, random.Random(source.getrandbits(64))))
                    break
                if parent not in survived:
                    survived.add(parent)
                    kept.append(parents[parent])
                    break
            else:
                kept.append(parents[parent])
        offspring = self._maker.each(
            lambda each: self._mutated(parents, each[0], draw, each[1]), mutations
        )
        for _, attempts in offspring:
            self._ledger.attempt(attempts)
        return [*kept, *(child for child, _ in offspring)]

    def _mutated(
        self,
        parents: Sequence[Program],
        index: int,
        draw: Callable[[random.Random], int],
        source: random.Random,
    ) -> tuple[Program, list[Attempt]]:
        """A mutation of a parent, or of another if it fails; at last a parent itself.

        Returns:
            The child, and what became of each rule that was tried.
        """
        attempts: list[Attempt] = []
        parent = parents[index]
        predicted = self._goes_by_prediction(parent, source)
        for _ in range(self._policy.max_tries + 1):
            rule = parent.next_rule if predicted else self._draw_rule(source)
            trace = mutate(self._mutators[rule], parent.schedule.trace, draw_seed(source))
            if trace is not None:
                child = self._maker.replay(trace, draw_seed(source))
                if child is not None:
                    attempts.append(Attempt(rule, predicted, "applied"))
                    child.mutation = Mutation(rule, predicted, parent.score or 0.0)
                    return child, attempts
            attempts.append(
                Attempt(rule, predicted, "inapplicable" if trace is None else "invalid")
            )
            # A predicted rule that fails is made up for by the draw, before another parent.
            if predicted:
                predicted = False
            else:
                parent = parents[draw(source)]
                predicted = self._goes_by_prediction(parent, source)
        return parent, attempts

    def _goes_by_prediction(self, parent: Program, source: random.Random) -> bool:
        return parent.next_rule != BY_WEIGHT and source.random() < self._policy.rule_share

    def _draw_rule(self, source: random.Random) -> int:
        return bisect(self._cumulative_weights, source.random() * self._cumulative_weights[-1])


def _weighted(weights: Sequence[float]) -> Callable[[random.Random], int]:
    """Draws indices in proportion to weights; all alike if there is no weight at all."""
    cumulative = list(accumulate(weights))
    total = cumulative[-1]
    if not total > 0.0:
        return lambda source: source.randrange(len(weights))
    last = len(weights) - 1
    return lambda source: min(bisect(cumulative, source.random() * total), last)
