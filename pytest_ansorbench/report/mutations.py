"""Mutation rules: how often each was tried, and whether predictions of its gain came true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ansorbench.records import Run
from pytest_ansorbench.report.cells import (
    Cell,
    Count,
    Decimals,
    Percentage,
    Score,
    ScoreChange,
    Text,
)
from pytest_ansorbench.report.decisions import number
from pytest_ansorbench.report.sections import Sentence


@dataclass(frozen=True)
class RuleTotals:
    """One mutation rule over all rounds of some runs.

    Scores are the cost model's: throughput over the run's best throughput so far.

    Attributes:
        rule: TVM's name of the rule.
        predicted: Whether a policy chose the rule for these parents, or the stock weights did.
        applied: Valid mutants it made.
        inapplicable: Times it had nothing to change.
        invalid: Times its mutant was no valid program.
        gain: Mean change in score from parent to mutant.
        improved: Share of mutants with a better score than their parent.
        measured: Mutants that were proposed and measured.
        expected: Mean score of these, as the cost model predicted it.
        realised: Mean throughput of these, over the best throughput of the run so far.
    """

    rule: str
    predicted: bool
    applied: int
    inapplicable: int
    invalid: int
    gain: float
    improved: float
    measured: int
    expected: float
    realised: float


def rule_totals(runs: Iterable[Run]) -> tuple[RuleTotals, ...]:
    """Add up what runs recorded of their mutations.

    Args:
        runs: Runs of one strategy.

    Returns:
        A record for each rule, as far as it was predicted and as far as it was drawn, the most
        applied first; empty if the strategy records none.
    """
    found: dict[tuple[bool, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        for round_ in run.rounds:
            for key, predicted in (("predicted_rules", True), ("drawn_rules", False)):
                rules = round_.decisions.get(key)
                for rule, entry in rules.items() if isinstance(rules, Mapping) else ():
                    if isinstance(entry, Mapping):
                        found.setdefault((predicted, rule), []).append(entry)
    totals = [_totals(rule, predicted, entries) for (predicted, rule), entries in found.items()]
    return tuple(sorted(totals, key=lambda rule: (not rule.predicted, -rule.applied, rule.rule)))


def mutation_sentences(runs: Iterable[Run]) -> tuple[Sentence, ...]:
    """The same in sentences, one a rule."""
    return tuple(_sentence(totals) for totals in rule_totals(runs))


def _totals(rule: str, predicted: bool, entries: list[Mapping[str, Any]]) -> RuleTotals:
    def total(key: str) -> int:
        return round(sum(number(entry.get(key)) for entry in entries))

    def mean(key: str, weight: str) -> float:
        # Rounds in which the cost model answered at random have counts, but no means.
        told = [entry for entry in entries if key in entry]
        whole = sum(number(entry.get(weight)) for entry in told)
        weighted = sum(number(entry.get(key)) * number(entry.get(weight)) for entry in told)
        return weighted / whole if whole else 0.0

    return RuleTotals(
        rule=rule,
        predicted=predicted,
        applied=total("applied"),
        inapplicable=total("inapplicable"),
        invalid=total("invalid"),
        gain=mean("gain", "applied"),
        improved=mean("improved", "applied"),
        measured=total("measured"),
        expected=mean("predicted", "measured"),
        realised=mean("realised", "measured"),
    )


def _sentence(totals: RuleTotals) -> Sentence:
    parts: list[str | Cell] = [
        Text(totals.rule),
        ", predicted: " if totals.predicted else ", drawn: ",
        Count(totals.applied),
        " mutants, score ",
        ScoreChange(totals.gain),
        " against the parent, better in ",
        Percentage(totals.improved, Decimals(0)),
    ]
    if totals.inapplicable:
        parts += ["; nothing to change ", Count(totals.inapplicable), " times"]
    if totals.invalid:
        parts += ["; invalid ", Count(totals.invalid), " times"]
    if totals.measured:
        parts += [
            "; ",
            Count(totals.measured),
            " measured, predicted ",
            Score(totals.expected, Decimals(2)),
            " and realised ",
            Score(totals.realised, Decimals(2)),
            " of the best",
        ]
    return tuple(parts)
