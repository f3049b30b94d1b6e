"""MetaSchedule's evolutionary search, step by step, with policies where it draws at random."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pytest_ansorbench.strategies.breeding import (
    Attempt,
    Individual,
    Mutation,
    RuleLedger,
    weighted_draw,
)
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.checked import (
    checked_decisions,
    checked_rules,
    checked_scores,
    checked_shares,
    checked_start,
)
from pytest_ansorbench.strategies.cost_model import is_blind, required_model
from pytest_ansorbench.strategies.errors import require_at_least, require_method, require_share
from pytest_ansorbench.strategies.features import extract, extractor_of
from pytest_ansorbench.strategies.program_maker import ProgramMaker, draw_seed, mutate, undecided
from pytest_ansorbench.strategies.proposer import Observation, Proposer, Setup
from pytest_ansorbench.strategies.rule_policy import (
    BY_WEIGHT,
    RULE_CHOOSER,
    RulePolicy,
    StockRules,
    stock_weights,
)
from pytest_ansorbench.strategies.sketch_policy import SKETCH_CHOOSER, SketchPolicy, UniformSketches

# Populations drawn in batches without a single valid program before drawing ends.
_MAX_SAMPLINGS: Final = 5


@dataclass(frozen=True)
class Evolution:
    """Evolutionary search whose sketches, mutation rules and effort are parameters.

    A round goes as in MetaSchedule's `EvolutionarySearch`
    (src/s_tir/meta_schedule/search_strategy/evolutionary_search.cc), whose values are the
    defaults: the best measured programs and new ones make a population; over some generations
    parents are drawn by the cost model's score and mutated; of all programs seen and not measured
    before, those with the best scores are proposed, with a few new ones picked at random. With
    `UniformSketches` and `StockRules` it proposes like the engine and takes a fifth longer.

    It differs from the engine in three points. Equal seeds and measurements give equal proposals,
    whichever thread comes first. A program is scored once per round, not once per generation. A
    mutation that fails is tried again as a mutation, never as a survival.

    Attributes:
        sketches: Divides the new part of the population among the sketches.
        rules: Chooses the mutation rule of each program.
        population: Programs of a generation.
        generations: Times a population is bred from.
        blind_generations: The same while the cost model still answers at random. With 0 there
            is no genetic search then: as many new programs are drawn as are wanted.
        measured_share: Share of the population that the best measured programs may take.
        mutation_share: Share of the offspring that is mutated; the rest survives as it is.
        rule_share: Share of the mutations whose rule is the chosen one; the rest is drawn by the
            stock weights, so that a program that is mutated many times is not always mutated
            alike.
        random_share: Share of a round's trials that is picked at random from the new programs.
        min_unmeasured: New programs to start from, at least; the space is exhausted if drawing
            does not give that many.
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
        require_method(self, "sketches", "start", example="UniformSketches()")
        require_method(self, "rules", "start", example="StockRules()")
        require_at_least(self, 1, "population", "min_unmeasured")
        require_at_least(self, 0, "generations", "blind_generations", "max_tries")
        require_share(self, "measured_share", "mutation_share", "rule_share", "random_share")

    def start(self, setup: Setup) -> Proposer:
        """The live search of one run.

        Raises:
            StrategyError: There is no cost model to rank programs by.
            BadAnswer: The `start` of a sketch or rule policy returned no chooser.
        """
        return _Evolution(self, setup)


class _Evolution:
    def __init__(self, policy: Evolution, setup: Setup) -> None:
        self._policy = policy
        self._setup = setup
        self._model = required_model(setup, policy)
        self._maker = ProgramMaker(setup.context)
        self._sketches = undecided(setup.sketches)
        self._workload = setup.database.commit_workload(setup.context.mod)
        self._mutators = list(setup.context.space_generator.mutator_probs)
        self._extractor = extractor_of(self._model)
        rules = stock_weights(setup.context)
        self._draw_rule = weighted_draw(list(rules.values()))
        start_sketches, start_rules = policy.sketches.start, policy.rules.start
        self._sketch_chooser = checked_start(
            start_sketches, start_sketches(len(self._sketches)), SKETCH_CHOOSER
        )
        self._rule_chooser = checked_start(start_rules, start_rules(rules), RULE_CHOOSER)
        self._ledger = RuleLedger(list(rules))
        self._proposed: set[int] = set()

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        policy = self._policy
        blind = is_blind(self._model)
        generations = policy.blind_generations if blind else policy.generations
        self._ledger.start_round(generations)
        if generations:
            measured = self._best_measured(int(policy.population * policy.measured_share))
            new = self._sample(policy.population - len(measured), policy.min_unmeasured)
            if len(new) < policy.min_unmeasured:
                return None
        else:
            measured, new = [], self._sample(trials, trials)
            if not new:
                return None
        # Without a genetic search, all of them are picked at random.
        randoms = int(trials * policy.random_share) if generations else trials
        best = self._evolve([*measured, *new], generations, max(1, trials - randoms))
        shuffled = [new[i] for i in self._setup.rng.permutation(len(new))]
        ranked = best[: trials - randoms] + shuffled + best[trials - randoms :]
        picks: list[Individual] = []
        for individual in ranked:
            fingerprint = individual.program.fingerprint
            if len(picks) < trials and fingerprint not in self._proposed:
                self._proposed.add(fingerprint)
                picks.append(individual)
        if not blind:  # random scores predict nothing that could be compared later
            self._ledger.propose(picks)
        return [individual.program.candidate() for individual in picks]

    def recall(self, candidates: Sequence[Candidate]) -> None:
        self._proposed |= {candidate.fingerprint for candidate in candidates}

    def learn(self, batch: Sequence[Observation]) -> None:
        gflops = [seen.gflops for seen in batch]
        self._sketch_chooser.observe([seen.sketch for seen in batch], gflops)
        self._ledger.observe(gflops)

    def decisions(self) -> Mapping[str, Any]:
        of_sketches = self._sketch_chooser.decisions
        return {
            **checked_decisions(of_sketches, of_sketches()),
            **self._ledger.decisions(),
        }

    def _best_measured(self, count: int) -> list[Individual]:
        records = self._setup.database.get_top_k(self._workload, count)
        return [*map(Individual, self._maker.recall([record.trace for record in records]))]

    def _sample(self, count: int, least: int) -> list[Individual]:
        """New programs, drawn until there are at least `least`, or drawing gives none."""
        drawn: list[Individual] = []
        source = random.Random(int(self._setup.rng.integers(2**63)))
        failed = 0
        most_failed = _MAX_SAMPLINGS * max(count, self._policy.population)
        while len(drawn) < least and failed < most_failed:
            shares = self._sketch_chooser.shares
            probabilities = checked_shares(shares, shares(), len(self._sketches))
            counts = self._setup.rng.multinomial(count, probabilities)
            sketches = [
                sketch
                for sketch, wanted in zip(self._sketches, counts, strict=True)
                for _ in range(wanted)
            ]
            programs = self._maker.sample(sketches, [draw_seed(source) for _ in sketches])
            failed += 0 if programs else max(1, count)
            drawn += map(Individual, programs)
        return drawn

    def _evolve(
        self, population: list[Individual], generations: int, wanted: int
    ) -> list[Individual]:
        """The best of all generations that were not proposed before, best first."""
        if not generations:
            return []
        found: dict[int, Individual] = {}
        for generation in range(generations + 1):
            self._score(population)
            for individual in population:
                fingerprint = individual.program.fingerprint
                if fingerprint not in self._proposed:
                    found.setdefault(fingerprint, individual)
            if generation < generations:
                population = self._next_generation(population)
        return heapq.nlargest(wanted, found.values(), key=lambda found: found.score or 0.0)

    def _score(self, population: Sequence[Individual]) -> None:
        """Have cost model and rule policy look at each individual, once."""
        unscored = [individual for individual in population if individual.score is None]
        if not unscored:
            return
        context, model = self._setup.context, self._model
        candidates = [one.program.candidate().measure_candidate for one in unscored]
        answer = model.predict(context, candidates)
        scores = np.maximum(checked_scores(model.predict, answer, len(unscored)), 0.0)
        choose = self._rule_chooser.choose
        chosen = choose(len(unscored), lambda: extract(self._extractor, context, candidates))
        rules = checked_rules(choose, chosen, len(unscored), len(self._mutators))
        for individual, score, rule in zip(unscored, scores, rules, strict=True):
            individual.score, individual.next_rule = float(score), int(rule)
        if not is_blind(model):
            self._ledger.score(unscored)

    def _next_generation(self, parents: Sequence[Individual]) -> list[Individual]:
        """Offspring of parents drawn by score: most of it mutated, the rest as it was."""
        policy, rng = self._policy, self._setup.rng
        draw = weighted_draw([parent.score or 0.0 for parent in parents])
        source = random.Random(int(rng.integers(2**63)))
        kept: list[Individual] = []
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
        offspring = self._maker.map(
            lambda mutation: self._mutated(parents, mutation[0], draw, mutation[1]), mutations
        )
        for _, attempts in offspring:
            self._ledger.attempt(attempts)
        return [*kept, *(child for child, _ in offspring)]

    def _mutated(
        self,
        parents: Sequence[Individual],
        index: int,
        draw: Callable[[random.Random], int],
        source: random.Random,
    ) -> tuple[Individual, list[Attempt]]:
        """A mutation of a parent, or of another if it fails; at last a parent itself.

        And the outcome of each rule that was tried.
        """
        attempts: list[Attempt] = []
        parent = parents[index]
        predicted = self._goes_by_prediction(parent, source)
        for _ in range(self._policy.max_tries + 1):
            rule = parent.next_rule if predicted else self._draw_rule(source)
            trace = mutate(self._mutators[rule], parent.program.schedule.trace, draw_seed(source))
            if trace is not None:
                program = self._maker.replay(trace, draw_seed(source))
                if program is not None:
                    attempts.append(Attempt(rule, predicted, "applied"))
                    mutation = Mutation(rule, predicted, parent.score or 0.0)
                    return Individual(program, mutation), attempts
            attempts.append(
                Attempt(rule, predicted, "inapplicable" if trace is None else "invalid")
            )
            # After a predicted rule that fails, a drawn one is tried before another parent is.
            if predicted:
                predicted = False
            else:
                parent = parents[draw(source)]
                predicted = self._goes_by_prediction(parent, source)
        return parent, attempts

    def _goes_by_prediction(self, parent: Individual, source: random.Random) -> bool:
        return parent.next_rule != BY_WEIGHT and source.random() < self._policy.rule_share
