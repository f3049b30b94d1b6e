"""Decisions of a strategy's policies, round by round; rounds of equal decisions together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Context
from itertools import groupby
from math import isfinite
from typing import Any, Final

from pytest_ansorbench.records import Run
from pytest_ansorbench.report.cells import Decisions, Index
from pytest_ansorbench.report.sections import Sentence, listed

_THREE_DIGITS: Final = Context(prec=3)


def decision_sentences(run: Run) -> Iterator[Sentence]:
    """Tell what was decided in a run, task by task.

    Args:
        run: The run.

    Yields:
        A sentence for each stretch of rounds of one task with the same decisions, floats taken
        to three significant digits. Mutation rules and drafts are left out: `mutations` and
        `drafts` add them up.
    """
    for task in range(len(run.tasks)):
        name: Sentence = ("task ", Index(task), ", ") if len(run.tasks) > 1 else ()
        decided = [
            (round_.index, _told(round_.decisions)) for round_ in run.rounds if round_.task == task
        ]
        # By their representation, in which 1, 1.0 and True differ and a NaN is like another.
        for _, stretch in groupby(decided, key=lambda entry: repr(entry[1])):
            rounds, values = zip(*stretch, strict=True)
            if values[0]:
                yield (*name, *_numbered(rounds), ": ", Decisions(values[0]))


def number(value: Any) -> float:
    """A number from a policy's decisions, where there may be anything; 0 if it is none."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if usable else 0.0


def _numbered(rounds: Sequence[int]) -> Sentence:
    """`round 4`, `rounds 1 to 3`, or `rounds 1, 7, 9`: a task of several has turns."""
    if len(rounds) == 1:
        return ("round ", Index(rounds[0]))
    if rounds[-1] - rounds[0] == len(rounds) - 1:
        return ("rounds ", Index(rounds[0]), " to ", Index(rounds[-1]))
    return ("rounds ", *listed(map(Index, rounds)))


def _told(decisions: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _rounded(value)
        for key, value in decisions.items()
        if not key.endswith("_rules") and key != "drafts"
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(_THREE_DIGITS.create_decimal_from_float(value))
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
