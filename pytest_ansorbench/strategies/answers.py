"""Checks of what policies answer, made where the answer enters the search.

A wrong answer would otherwise surface as an error deep in NumPy or TVM, far from the code that
gave it. Each check takes the method that was asked, so that its error can point there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from pytest_ansorbench.codec import json_value
from pytest_ansorbench.records import RecordError
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.errors import BadAnswer
from pytest_ansorbench.strategies.proposer import NothingMore
from pytest_ansorbench.strategies.rule_policy import BY_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Method = Callable[..., Any]
_Live = TypeVar("_Live")

# How far shares may be off a sum of 1.
_ROUNDING: Final = 1e-6


def checked_start(start: _Method, live: _Live, methods: Sequence[str]) -> _Live:
    """The object that a policy's `start` returned, if it has its protocol's methods."""
    missing = [name for name in methods if not callable(getattr(live, name, None))]
    if isinstance(live, type) or missing:
        raise BadAnswer(
            start,
            f"bad result {short(live)} of start: expected an instance with the methods "
            f"{', '.join(methods)}" + (f"; it has no {', '.join(missing)}" if missing else ""),
        )
    return live


def checked_proposal(
    strategy: str, propose: _Method, proposed: Any
) -> list[Candidate] | NothingMore:
    """The candidates that a proposer proposed, each with a copy of its payload."""
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

    if proposed is None:
        return NothingMore()
    if isinstance(proposed, NothingMore) and isinstance(proposed.reason, str) and proposed.reason:
        return proposed
    expected = (
        "expected a list of Candidate, e.g. [Candidate.from_schedule(schedule)], or None or "
        "NothingMore('nothing more to gain') to end the search"
    )
    if not isinstance(proposed, Sequence):
        raise BadAnswer(
            propose, f"bad proposal {short(proposed)} of strategy {strategy!r}: {expected}"
        )
    candidates = []
    for index, candidate in enumerate(proposed):
        if not isinstance(candidate, Candidate) or not isinstance(
            candidate.measure_candidate, MeasureCandidate
        ):
            raise BadAnswer(
                propose,
                f"bad proposal of strategy {strategy!r}: {expected}; item {index} is "
                f"{short(candidate)}",
            )
        payload = _json(f"payload of strategy {strategy!r}", propose, candidate.payload)
        candidates.append(replace(candidate, payload=payload))
    return candidates


def checked_decisions(decisions: _Method, decided: Any) -> dict[str, Any]:
    """A policy's report of a round, as JSON values."""
    if not isinstance(decided, Mapping):
        raise BadAnswer(
            decisions,
            f"bad decisions {short(decided)}: expected a dict of JSON values, e.g. "
            "{'generations': 4}; empty if there is nothing to report",
        )
    copied: dict[str, Any] = _json("decisions", decisions, decided)
    return copied


def checked_latencies(measure: _Method, samples: Any) -> tuple[float, ...]:
    """The samples of a measurement policy, in seconds."""
    listed = list(samples) if isinstance(samples, Iterable) else []
    latencies_s = tuple(float(sample) for sample in listed if isinstance(sample, Real))
    if len(latencies_s) < max(1, len(listed)) or not all(0.0 < s < math.inf for s in latencies_s):
        raise BadAnswer(
            measure,
            f"bad latencies {short(samples)}: expected seconds above 0, one per sample, e.g. "
            "(0.00125,)",
        )
    return latencies_s


def checked_shares(shares: _Method, answer: Any, sketches: int) -> NDArray[np.float64]:
    """The probability of each sketch, shape (sketches,)."""
    given = _array(answer, np.float64)
    if given is None or given.shape != (sketches,) or not (given >= 0.0).all():
        raise BadAnswer(
            shares,
            f"bad shares {short(answer)}: expected a probability for each sketch, shape "
            f"({sketches},), e.g. numpy.full({sketches}, 1 / {sketches})",
        )
    total = float(given.sum())
    if not abs(total - 1.0) <= _ROUNDING:
        raise BadAnswer(shares, f"bad shares {short(answer)}: expected a sum of 1, got {total:g}")
    # NumPy's multinomial distribution takes no larger error, which 32-bit shares may have.
    return given if abs(total - 1.0) <= 1e-12 else given / total


def checked_rules(choose: _Method, answer: Any, programs: int, rules: int) -> NDArray[np.intp]:
    """The mutation rule of each program or `BY_WEIGHT`, shape (programs,)."""
    given = _array(answer, None)
    if (
        given is None
        or given.dtype.kind not in "iu"
        or given.shape != (programs,)
        or not ((given >= BY_WEIGHT) & (given < rules)).all()
    ):
        raise BadAnswer(
            choose,
            f"bad rules {short(answer)}: expected an index from 0 to {rules - 1} or BY_WEIGHT, "
            f"integers of shape ({programs},), e.g. numpy.full({programs}, BY_WEIGHT)",
        )
    return given.astype(np.intp)


def checked_scores(predict: _Method, answer: Any, candidates: int) -> NDArray[np.float64]:
    """The score of each candidate, shape (candidates,)."""
    given = _array(answer, np.float64)
    if given is None or given.shape != (candidates,) or np.isnan(given).any():
        raise BadAnswer(
            predict,
            f"bad scores {short(answer)}: expected a number for each candidate, shape "
            f"({candidates},), e.g. numpy.zeros({candidates})",
        )
    return given


def _json(name: str, method: _Method, value: Any) -> Any:
    try:
        return json_value(value)
    except RecordError as error:
        where = f" at {error.where}" if error.where else ""
        raise BadAnswer(
            method,
            f"bad {name}, {short(value)}: expected {error.expected}{where}; JSON values are dicts "
            "with text keys, lists, str, int, finite float, bool and None, e.g. {'step': 3}",
        ) from None


def _array(value: Any, dtype: type | None) -> NDArray[Any] | None:
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError):
        return None
