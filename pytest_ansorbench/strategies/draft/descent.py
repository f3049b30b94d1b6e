"""Local descent: what lies one step from the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_ansorbench.strategies.checks import require_at_least, require_share
from pytest_ansorbench.strategies.draft.space import DecisionSpace, Vector


@dataclass(frozen=True)
class Descent:
    """A share of each batch goes one step from the best programs.

    Among the best, a model trained on few trials cannot tell drafts apart. What is one step from
    a fast program is often fast, and all of these are a hundred or two: coordinate descent, as
    Droplet's (https://arxiv.org/abs/2406.20037), with the model to say in which order.

    Attributes:
        share: Of a batch.
        parents: Measured programs whose surroundings are searched, the fastest.
        trials: Trials before it begins.
    """

    share: float = 0.25
    parents: int = 3
    trials: int = 48

    def __post_init__(self) -> None:
        require_share(self, "share", example=0.25)
        require_at_least(self, "parents", 1, example=3)
        require_at_least(self, "trials", 0, example=48)


def one_step_from(space: DecisionSpace, vector: Vector) -> Iterator[Vector]:
    """Every vector that differs by one step: a factor moved, or a choice next to it.

    Args:
        space: The sketch.
        vector: Where to start.
    """
    for at, knob in enumerate(space.knobs):
        for choice in knob.near(vector[at]):
            yield (*vector[:at], int(choice), *vector[at + 1 :])
