"""Keeps the books on mutation rules: what was tried, what the model hoped for, what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ansorbench.strategies.programs import Program


@dataclass
class _Account:
    """One rule in one round."""

    attempts: Counter[str] = field(default_factory=Counter)
    gains: list[float] = field(default_factory=list)
    predicted: list[float] = field(default_factory=list)
    realised: list[float] = field(default_factory=list)


class RuleLedger:
    """One round's mutations, by rule.

    Scores are the cost model's: throughput over the best throughput measured so far.
    """

    def __init__(self, rules: Sequence[str]) -> None:
        self._rules = rules
        self._generations = 0
        self._accounts: dict[int, _Account] = {}
        self._picks: Sequence[Program] = ()
        self._best_gflops = 0.0

    def start_round(self, generations: int) -> None:
        """Open the books of a round that breeds so many generations."""
        self._generations = generations
        self._accounts = {}
        self._picks = ()

    def attempt(self, attempts: Sequence[tuple[int, str]]) -> None:
        """Book what became of rules: `applied`, `inapplicable` or `invalid`."""
        for rule, outcome in attempts:
            self._account(rule).attempts[outcome] += 1

    def score(self, programs: Sequence[Program]) -> None:
        """Book what mutants are worth, to the cost model, against their parents."""
        for program in programs:
            if program.rule is not None and program.parent_score is not None:
                gain = (program.score or 0.0) - program.parent_score
                self._account(program.rule).gains.append(gain)

    def propose(self, picks: Sequence[Program]) -> None:
        """Book what is to be measured."""
        self._picks = picks

    def observe(self, gflops: Sequence[float]) -> None:
        """Close the books with what was measured, in order of the proposal."""
        self._best_gflops = max([self._best_gflops, *gflops])
        for program, measured in zip(self._picks, gflops, strict=False):  # a batch may be cut short
            if program.rule is not None and self._best_gflops > 0.0:
                account = self._account(program.rule)
                account.predicted.append(program.score or 0.0)
                account.realised.append(measured / self._best_gflops)

    def decisions(self) -> Mapping[str, Any]:
        """The round for the record.

        Returns:
            `generations`, and in `rules` for each rule that was tried: how often it was
            `applied`, found nothing to change (`inapplicable`) or gave an `invalid` program; the
            mean `gain` in score over the parent and the share of mutants that `improved`; how
            many of its mutants were `measured`, their mean score as `predicted` and as
            `realised`.
        """
        rules = {
            self._rules[index]: _entry(account) for index, account in sorted(self._accounts.items())
        }
        return {"generations": self._generations, **({"rules": rules} if rules else {})}

    def _account(self, rule: int) -> _Account:
        return self._accounts.setdefault(rule, _Account())


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
