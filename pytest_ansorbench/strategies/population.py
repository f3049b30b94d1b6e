"""The population of a genetic search."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from pytest_ansorbench.strategies.rule_policy import BY_WEIGHT

if TYPE_CHECKING:
    from pytest_ansorbench.strategies.program_maker import ScheduledProgram


@dataclass(frozen=True, slots=True)
class Mutation:
    """How an individual came from its parent.

    Attributes:
        rule: Index of the mutation rule.
        predicted: Whether a rule policy chose the rule for this parent; otherwise it was drawn by
            the stock weights.
        parent_score: The cost model's score of the parent.
    """

    rule: int
    predicted: bool
    parent_score: float


@dataclass(slots=True)
class Individual:
    """A program as a member of a population.

    Attributes:
        program: The program.
        mutation: How it came from its parent; None if it was sampled from a sketch or taken from
            the database.
        score: The cost model's score; None until it is scored.
        next_rule: Rule to mutate it by, as the rule policy chose when it was scored.
    """

    program: ScheduledProgram
    mutation: Mutation | None = None
    score: float | None = None
    next_rule: int = BY_WEIGHT


def weighted_draw(weights: Sequence[float]) -> Callable[[random.Random], int]:
    """Draws indices in proportion to weights; uniformly if all weights are 0.

    Args:
        weights: At least one, none below 0.

    Returns:
        A function from a source of randomness to an index.
    """
    cumulative = list(accumulate(weights))
    total = cumulative[-1]
    if not total > 0.0:
        return lambda source: source.randrange(len(weights))
    last = len(weights) - 1
    return lambda source: min(bisect(cumulative, source.random() * total), last)
