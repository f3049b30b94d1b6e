"""A population that is bred from, and a record of its mutations: tried, predicted, measured."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

from pytest_ansorbench.strategies.program_maker import ScheduledProgram
from pytest_ansorbench.strategies.rule_policy import BY_WEIGHT


@dataclass(frozen=True, slots=True)
class Mutation:
    """How an individual came from its parent."""

    rule: int
    predicted: bool  # whether a rule policy chose the rule, or the stock weights did
    parent_score: float


@dataclass(slots=True)
class Individual:
    """A program as a member of a population."""

    program: ScheduledProgram
    # None if it was sampled from a sketch or taken from the database.
    mutation: Mutation | None = None
    # The cost model's; None until it is scored.
    score: float | None = None
    # Rule to mutate it by, as the rule policy chose when it was scored.
    next_rule: int = BY_WEIGHT


def weighted_draw(weights: Sequence[float]) -> Callable[[random.Random], int]:
    """Draws indices in proportion to weights, none below 0; uniformly if all of them are 0."""
    cumulative = list(accumulate(weights))
    total = cumulative[-1]
    if not total > 0.0:
        return lambda source: source.randrange(len(weights))
    last = len(weights) - 1
    return lambda source: min(bisect(cumulative, source.random() * total), last)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One mutation that was tried."""

    rule: int
    predicted: bool  # whether a rule policy chose it, or the stock weights did
    outcome: Literal["applied", "inapplicable", "invalid"]  # inapplicable: nothing to change


@dataclass
class _Account:
    """One rule in one round, predicted and drawn mutations apart."""

    attempts: Counter[str] = field(default_factory=Counter)
    gains: list[float] = field(default_factory=list)
    predicted: list[float] = field(default_factory=list)
    realised: list[float] = field(default_factory=list)


class RuleLedger:
    """One round's mutations, by rule.

    Scores are the cost model's: throughput over the best throughput measured so far. Mutations
    by a predicted rule and by a rule drawn with the stock weights have separate accounts, so
    that they can be compared.
    """

    def __init__(self, rules: Sequence[str]) -> None:
        self._rules = rules
        self._generations = 0
        self._accounts: dict[tuple[bool, int], _Account] = {}
        self._picks: Sequence[Individual] = ()
        self._best_gflops = 0.0

    def start_round(self, generations: int) -> None:
        self._generations = generations
        self._accounts = {}
        self._picks = ()

    def attempt(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            self._account(attempt.predicted, attempt.rule).attempts[attempt.outcome] += 1

    def score(self, individuals: Sequence[Individual]) -> None:
        """Note the scores of mutants against their parents'."""
        for individual in individuals:
            if (mutation := individual.mutation) is not None:
                gain = (individual.score or 0.0) - mutation.parent_score
                self._account(mutation.predicted, mutation.rule).gains.append(gain)

    def propose(self, picks: Sequence[Individual]) -> None:
        self._picks = picks

    def observe(self, gflops: Sequence[float]) -> None:
        """End the round: what was measured, in order of the proposal."""
        self._best_gflops = max([self._best_gflops, *gflops])
        for pick, measured in zip(self._picks, gflops, strict=False):  # a batch may be cut short
            if (mutation := pick.mutation) is not None and self._best_gflops > 0.0:
                account = self._account(mutation.predicted, mutation.rule)
                account.predicted.append(pick.score or 0.0)
                account.realised.append(measured / self._best_gflops)

    def decisions(self) -> Mapping[str, Any]:
        """The round for the record: `generations`, and each rule that was tried.

        Under `predicted_rules` and `drawn_rules`: how often a rule was `applied`, found nothing to
        change (`inapplicable`) or gave an `invalid` program; the mean `gain` in score over the
        parent and the share of mutants that `improved`; how many of its mutants were `measured`,
        their mean score as `predicted` and their mean throughput, over the best so far, as
        `realised`. In rounds with random scores mutations are counted only.
        """
        decisions: dict[str, Any] = {"generations": self._generations}
        for key, wanted in (("predicted_rules", True), ("drawn_rules", False)):
            rules = {
                self._rules[rule]: _entry(account)
                for (predicted, rule), account in sorted(self._accounts.items())
                if predicted == wanted
            }
            if rules:
                decisions[key] = rules
        return decisions

    def _account(self, predicted: bool, rule: int) -> _Account:
        return self._accounts.setdefault((predicted, rule), _Account())


def _entry(account: _Account) -> dict[str, Any]:
    entry: dict[str, Any] = {
        outcome: account.attempts[outcome]
        for outcome in ("applied", "inapplicable", "invalid")
        if account.attempts[outcome]
    }
    if account.gains:
        entry["gain"] = _mean(account.gains)
        entry["improved"] = _mean([float(gain > 0.0) for gain in account.gains])
    if account.realised:
        entry["measured"] = len(account.realised)
        entry["predicted"] = _mean(account.predicted)
        entry["realised"] = _mean(account.realised)
    return entry


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)
