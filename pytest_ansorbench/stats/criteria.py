"""How runs are compared and judged: the figures that users may set.

Standard library only: the options take their defaults from here before anything is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.looks import Looks

# A run's progress by its leads as they were measured again, or as the search saw them
Progress = Literal["confirmed", "believed"]
PROGRESS: Final[tuple[str, ...]] = get_args(Progress)


@dataclass(frozen=True, slots=True)
class Criteria:
    """How comparisons are made and judged."""

    goal: Goal = field(default_factory=Goal)  # how the target of S is chosen
    # Share of throughput that targets stay below what they are derived from
    tolerance: float = 0.01
    confidence: float = 0.95  # confidence level of intervals, and so of the word *holds*
    noise: float = 0.01  # share by which a figure may miss its limit without being called broken
    # Chance that a session fails in which every figure is as good as its limit; shared out among
    # all gates of the session
    false_alarms: float = 0.01
    # Whether targets and times to them count confirmed or believed progress
    progress: Progress = "confirmed"
    # After how many repeats gates are judged, with rates of error that hold over all of these
    # looks; None for once, after all of them
    looks: Looks | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.tolerance < 1.0:
            raise ValueError(
                f"bad tolerance {self.tolerance!r}: expected a fraction from 0 to below 1, "
                "e.g. 0.01"
            )
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"bad confidence {self.confidence!r}: expected a fraction, e.g. 0.95")
        if not 0.0 <= self.noise < 1.0:
            raise ValueError(f"bad noise {self.noise!r}: expected a fraction, e.g. 0.01")
        if not 0.0 < self.false_alarms < 1.0:
            raise ValueError(
                f"bad false_alarms {self.false_alarms!r}: expected a probability, e.g. 0.01"
            )
        if self.progress not in PROGRESS:
            raise ValueError(f"bad progress {self.progress!r}: expected confirmed or believed")

    def looked_at(self, looks: str) -> Criteria:
        """The same with a case's own looks, as it recorded them."""
        return replace(self, looks=Looks.parse(looks) if looks else None)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Criteria:
        """The criteria that a result was judged by, from its recorded settings.

        Criteria that an older result did not record are today's defaults.
        """
        given: dict[str, Any] = {}
        for name in ("tolerance", "confidence", "noise", "false_alarms"):
            if name in settings:
                given[name] = recorded_number(settings, name)
        if "goal" in settings:
            given["goal"] = Goal.parse(str(settings["goal"]))
        if "progress" in settings:
            given["progress"] = settings["progress"]
        if isinstance(settings.get("repeats"), str):
            given["looks"] = Looks.parse(settings["repeats"])
        return cls(**given)


def recorded_number(settings: Mapping[str, Any], name: str) -> float:
    """A setting that is a number, from a file that says so."""
    value = settings[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise ValueError(f"bad setting {name} {value!r}: expected a number")
    return float(value)
