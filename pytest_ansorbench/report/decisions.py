"""What a strategy's policies reported of their rounds: decisions, mutation rules, drafts.

Decisions come from policies of anybody, so a value may be anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from itertools import groupby
from typing import Any, Final

import numpy as np

from pytest_ansorbench.records import CaseResult, Run
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.wording import counted, decisions_text, percent_text
from pytest_ansorbench.stats.ranks import rank_correlation

_THREE_DIGITS: Final = Context(prec=3)
_MOST: Final = 1e15


def decision_sentences(run: Run) -> Iterator[str]:
    """Tell what was decided in a run, task by task, rounds of equal decisions together.

    Floats are taken to three significant digits. Mutation rules and drafts are left out, as they
    are added up over all runs.
    """
    for task in range(len(run.tasks)):
        name = f"task {task}, " if len(run.tasks) > 1 else ""
        decided = [
            (round_.index, _told(round_.decisions)) for round_ in run.rounds if round_.task == task
        ]
        # By their representation, in which 1, 1.0 and True differ and a NaN is like another.
        for _, stretch in groupby(decided, key=lambda entry: repr(entry[1])):
            rounds, values = zip(*stretch, strict=True)
            if values[0]:
                yield f"{name}{_numbered(rounds)}: {decisions_text(values[0])}"


def stage_lines(cases: Sequence[CaseResult]) -> Lines:
    """How much of a budget came after a strategy's preparations: what a short one leaves out."""
    by_strategy: dict[str, list[Run]] = {}
    for run in (run for case in cases for run in case.runs):
        by_strategy.setdefault(run.strategy, []).append(run)
    return Lines.of(f"stages: {told}" for runs in by_strategy.values() for told in _stages(runs))


def _stages(runs: Sequence[Run]) -> Iterator[str]:
    """After it committed to a sketch, if it means to; before its cost model began, if that long."""
    stages: Counter[str] = Counter()
    for run in runs:
        trials = Counter(trial.round for trial in run.trials)
        for one in run.rounds:
            number, decided = trials[one.index], one.decisions
            stages["trials"] += number
            stages["choosing"] += number * ("committed_sketch" in decided)
            stages["committed"] += number * (decided.get("committed_sketch") is not None)
            stages["untrained"] += number * (decided.get("cost_model") == "untrained")
    name, every = runs[0].strategy, counted(stages["trials"], "trial")
    if stages["choosing"]:
        yield f"{name} had committed to a sketch in {stages['committed']} of {every}"
    if 2 * stages["untrained"] > stages["trials"]:
        yield f"the cost model of {name} was untrained in {stages['untrained']} of {every}"


def _numbered(rounds: Sequence[int]) -> str:
    """`round 4`, `rounds 1 to 3`, or `rounds 1, 7, 9`: a task of several has turns."""
    if len(rounds) == 1:
        return f"round {rounds[0]}"
    if rounds[-1] - rounds[0] == len(rounds) - 1:
        return f"rounds {rounds[0]} to {rounds[-1]}"
    return f"rounds {', '.join(map(str, rounds))}"


def _told(decisions: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _rounded(value)
        for key, value in decisions.items()
        if not key.endswith("_rules") and key not in ("drafts", "cost_model")
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(_THREE_DIGITS.create_decimal_from_float(value))
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value


def _number(value: Any) -> float:
    """A number, 0 if it is none, or larger than any count or score."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST
    return float(value) if usable else 0.0


def _total(entries: Sequence[Mapping[str, Any]], key: str) -> int:
    return round(sum(_number(entry.get(key)) for entry in entries))


@dataclass(frozen=True)
class RuleTotals:
    """One mutation rule over all rounds of some runs.

    Scores are the cost model's: throughput over the run's best throughput so far.
    """

    rule: str  # TVM's name of it
    predicted: bool  # whether a policy chose the rule for these parents, or the stock weights did
    applied: int  # valid mutants it made
    inapplicable: int  # times it had nothing to change
    invalid: int  # times its mutant was no valid program
    gain: float  # mean change in score from parent to mutant
    improved: float  # share of mutants with a better score than their parent
    measured: int  # mutants that were proposed and measured
    expected: float  # mean score of these, as the cost model predicted it
    realised: float  # mean score of these by their measured throughput


def rule_totals(runs: Iterable[Run]) -> tuple[RuleTotals, ...]:
    """Add up what runs of one strategy recorded of their mutations.

    A record for each rule, as far as it was predicted and as far as it was drawn, the most applied
    first.
    """
    found: dict[tuple[bool, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        for round_ in run.rounds:
            for key, predicted in (("predicted_rules", True), ("drawn_rules", False)):
                rules = round_.decisions.get(key)
                for rule, entry in rules.items() if isinstance(rules, Mapping) else ():
                    if isinstance(entry, Mapping):
                        found.setdefault((predicted, rule), []).append(entry)
    totals = [_rule(rule, predicted, entries) for (predicted, rule), entries in found.items()]
    return tuple(sorted(totals, key=lambda rule: (not rule.predicted, -rule.applied, rule.rule)))


def _rule(rule: str, predicted: bool, entries: list[Mapping[str, Any]]) -> RuleTotals:
    def mean(key: str, weight: str) -> float:
        # Rounds in which the cost model answered at random have counts, but no means.
        told = [entry for entry in entries if key in entry]
        whole = sum(_number(entry.get(weight)) for entry in told)
        weighted = sum(_number(entry.get(key)) * _number(entry.get(weight)) for entry in told)
        return weighted / whole if whole else 0.0

    return RuleTotals(
        rule=rule,
        predicted=predicted,
        applied=_total(entries, "applied"),
        inapplicable=_total(entries, "inapplicable"),
        invalid=_total(entries, "invalid"),
        gain=mean("gain", "applied"),
        improved=mean("improved", "applied"),
        measured=_total(entries, "measured"),
        expected=mean("predicted", "measured"),
        realised=mean("realised", "measured"),
    )


def mutation_sentences(runs: Iterable[Run]) -> Iterator[str]:
    """One sentence a rule."""
    for totals in rule_totals(runs):
        chosen = "predicted" if totals.predicted else "drawn"
        sentence = (
            f"{totals.rule}, {chosen}: {counted(totals.applied, 'mutant')}, score "
            f"{totals.gain:+.3f} against the parent, better in {percent_text(totals.improved, 2)}"
        )
        if totals.inapplicable:
            sentence += f"; nothing to change {counted(totals.inapplicable, 'time')}"
        if totals.invalid:
            sentence += f"; invalid {counted(totals.invalid, 'time')}"
        if totals.measured:
            sentence += (
                f"; {totals.measured} measured, predicted {totals.expected:.2f} and realised "
                f"{totals.realised:.2f} of the best"
            )
        yield sentence


def draft_sentences(runs: Iterable[Run]) -> Iterator[str]:
    """How many drafts became programs, and whether what was predicted of them came true."""
    found = [
        drafts
        for run in runs
        for round_ in run.rounds
        if isinstance(drafts := round_.decisions.get("drafts"), Mapping)
    ]
    replayed = _total(found, "replayed")
    if not replayed:
        return
    failed, repeated = (
        percent_text(_total(found, name) / replayed, 2) for name in ("failed", "repeated")
    )
    sentence = (
        f"drafts: {replayed} replayed, {failed} no program, {repeated} programs proposed before"
    )
    # Throughput over the best so far.
    pairs = np.array([pair for drafts in found for pair in _pairs(drafts)])
    if len(pairs):
        predicted, measured = pairs.T
        sentence += (
            f"; {len(pairs)} measured, on average predicted {predicted.mean():.2f} and realised "
            f"{measured.mean():.2f} of the best"
        )
        if (agreement := rank_correlation(predicted, measured)) is not None:
            sentence += f", rank correlation {agreement:.2f}"
    yield sentence


def _pairs(drafts: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Predicted and measured throughput of each draft that has both."""
    predicted, measured = drafts.get("predicted"), drafts.get("measured")
    if not isinstance(predicted, list | tuple) or not isinstance(measured, list | tuple):
        return []
    return [
        (_number(one), _number(other))
        for one, other in zip(predicted, measured, strict=False)
        if one is not None
    ]
