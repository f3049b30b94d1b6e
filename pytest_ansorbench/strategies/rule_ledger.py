"""Keeps a record of mutation rules: tried, predicted to gain, and measured to gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_ansorbench.strategies.population import Individual


@dataclass(frozen=True, slots=True)
class Attempt:
    """One mutation that was tried.

    Attributes:
        rule: Index of the rule.
        predicted: Whether a rule policy chose it, or the stock weights did.
        outcome: Whether it gave a program; `inapplicable` if the rule had nothing to change.
    """

    rule: int
    predicted: bool
    outcome: Literal["applied", "inapplicable", "invalid"]


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
        """Begin a round.

        Args:
            generations: How many generations it breeds.
        """
        self._generations = generations
        self._accounts = {}
        self._picks = ()

    def attempt(self, attempts: Sequence[Attempt]) -> None:
        """Count mutations by rule and outcome."""
        for attempt in attempts:
            self._account(attempt.predicted, attempt.rule).attempts[attempt.outcome] += 1

    def score(self, individuals: Sequence[Individual]) -> None:
        """Note the scores of mutants against their parents'."""
        for individual in individuals:
            if (mutation := individual.mutation) is not None:
                gain = (individual.score or 0.0) - mutation.parent_score
                self._account(mutation.predicted, mutation.rule).gains.append(gain)

    def propose(self, picks: Sequence[Individual]) -> None:
        """Note which individuals are to be measured."""
        self._picks = picks

    def observe(self, gflops: Sequence[float]) -> None:
        """End the round.

        Args:
            gflops: Measured throughputs in GFLOP/s, in order of the proposal.
        """
        self._best_gflops = max([self._best_gflops, *gflops])
        for pick, measured in zip(self._picks, gflops, strict=False):  # a batch may be cut short
            if (mutation := pick.mutation) is not None and self._best_gflops > 0.0:
                account = self._account(mutation.predicted, mutation.rule)
                account.predicted.append(pick.score or 0.0)
                account.realised.append(measured / self._best_gflops)

    def decisions(self) -> Mapping[str, Any]:
        """The round for the record.

        Returns:
            `generations`, and in `predicted_rules` and `drawn_rules` for each rule that was tried:
            how often it was `applied`, found nothing to change (`inapplicable`) or gave an
            `invalid` program; the mean `gain` in score over the parent and the share of mutants
            that `improved`; how many of its mutants were `measured`, their mean score as
            `predicted` and their mean throughput, over the best so far, as `realised`. In rounds
            with random scores mutations are counted only.
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
