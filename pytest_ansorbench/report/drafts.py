"""Drafts: how many became programs, and whether what was predicted of them came true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_ansorbench.records import Run
from pytest_ansorbench.report.cells import Cell, Count, Decimals, Percentage, Score
from pytest_ansorbench.report.decisions import number
from pytest_ansorbench.report.sections import Sentence
from pytest_ansorbench.stats.ranks import rank_correlation


@dataclass(frozen=True)
class DraftTotals:
    """What runs of `Draft` recorded, over all rounds.

    Attributes:
        replayed: Drafts that were replayed.
        failed: Those that gave no program.
        repeated: Those whose program had been proposed before.
        predicted: Throughput that was predicted of each measured draft, over the best so far.
        measured: Throughput that was measured, the same way.
    """

    replayed: int
    failed: int
    repeated: int
    predicted: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def rank_correlation(self) -> float | None:
        """Spearman's, of what was predicted and measured; None if either is all the same."""
        return rank_correlation(np.array(self.predicted), np.array(self.measured))


def draft_totals(runs: Iterable[Run]) -> DraftTotals | None:
    """Add up what runs recorded of their drafts.

    Args:
        runs: Runs of one strategy.

    Returns:
        None if the strategy records none.
    """
    found = [
        drafts
        for run in runs
        for round_ in run.rounds
        if isinstance(drafts := round_.decisions.get("drafts"), Mapping)
    ]
    if not found:
        return None
    pairs = [pair for drafts in found for pair in _pairs(drafts)]

    def total(key: str) -> int:
        return round(sum(number(drafts.get(key)) for drafts in found))

    return DraftTotals(
        replayed=total("replayed"),
        failed=total("failed"),
        repeated=total("repeated"),
        predicted=tuple(predicted for predicted, _ in pairs),
        measured=tuple(measured for _, measured in pairs),
    )


def draft_sentences(runs: Iterable[Run]) -> tuple[Sentence, ...]:
    """The same as a sentence; none if the strategy records no drafts."""
    totals = draft_totals(runs)
    if totals is None or not totals.replayed:
        return ()
    parts: list[str | Cell] = [
        "drafts: ",
        Count(totals.replayed),
        " replayed, ",
        Percentage(totals.failed / totals.replayed, Decimals(0)),
        " no program, ",
        Percentage(totals.repeated / totals.replayed, Decimals(0)),
        " programs proposed before",
    ]
    if totals.predicted:
        parts += [
            "; ",
            Count(len(totals.predicted)),
            " measured, on average predicted ",
            Score(float(np.mean(totals.predicted)), Decimals(2)),
            " and realised ",
            Score(float(np.mean(totals.measured)), Decimals(2)),
            " of the best",
        ]
    if (agreement := totals.rank_correlation) is not None:
        parts += [", rank correlation ", Score(agreement, Decimals(2))]
    return (tuple(parts),)


def _pairs(drafts: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Predicted and measured throughput of each draft that has both."""
    predicted, measured = drafts.get("predicted"), drafts.get("measured")
    if not isinstance(predicted, list | tuple) or not isinstance(measured, list | tuple):
        return []
    return [
        (number(one), number(other))
        for one, other in zip(predicted, measured, strict=False)
        if one is not None
    ]
