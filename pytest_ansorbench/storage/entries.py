"""The lines of a journal: what has to survive for a run to go on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from pytest_ansorbench.records import (
    LastRanking,
    MachineState,
    Moment,
    NoiseTrace,
    Remeasurement,
    Round,
    Run,
    TaskRecord,
    Trial,
    Yardsticks,
)

JOURNAL_VERSION: Final = 8


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """The first line: under what circumstances everything after it was measured.

    Attributes:
        journal_version: Version of this layout.
        created: UTC time of the session's start, ISO 8601.
        machine: What it began on, as in a result.
        commit: As in a result.
        settings: As in a result.
        cases: Ids of the cases that it means to run, in order.
    """

    journal_version: int
    created: str
    machine: Mapping[str, Any]
    commit: Mapping[str, Any]
    settings: Mapping[str, Any]
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A case begins.

    Attributes:
        label: What the lines on it call it: its id, and a number if it is not the first of it.
        case: The case's id.
        version: Hash of its programs.
        strategies: The arms, the reference first.
        control: The arm that is the reference over again; None if there is none.
        flops: Floating-point operations of one execution.
        tasks: What is tuned, without sketches, which may depend on the strategy.
        programs: The tasks' programs, packed as in a result.
        conditions: All else that decides what is measured, by setting.
        repeats: How many there were to be when it began, at most.
        limits: The limits that it was to be held to then, by figure.
    """

    label: str
    case: str
    version: str
    strategies: tuple[str, ...]
    control: str | None
    flops: int
    tasks: tuple[TaskRecord, ...]
    programs: tuple[str, ...]
    conditions: Mapping[str, Any]
    repeats: int = 1
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RepeatEntry:
    """A repeat of a case begins.

    Attributes:
        label: The case's label.
        seed: The repeat's seed.
        machine: What it is measured on, as in a result.
        before: What else the machine did at that moment.
    """

    label: str
    seed: int
    machine: Mapping[str, Any]
    before: MachineState


@dataclass(frozen=True, slots=True)
class RecordedEntry:
    """A run of another day stands in for one of this repeat.

    Attributes:
        label: The case's label.
        seed: The repeat's seed.
        strategy: The arm.
        created: When the session that ran it began, UTC, ISO 8601.
        first_round_s: Seconds that its first round took when it was run again.
        run: The run as it was recorded.
    """

    label: str
    seed: int
    strategy: str
    created: str
    first_round_s: float
    run: Run


@dataclass(frozen=True, slots=True)
class SearchState:
    """What of a search its record does not hold.

    Attributes:
        candidates: The round's schedules, packed by `search.candidates`.
        numpy_state: State of the run's private NumPy generator, 2,496 bytes in base64, and
            its position.
        numpy_position: The generator's position in that state.
        rng: State of the generator that the task's proposer has of its own.
    """

    candidates: str
    numpy_state: str
    numpy_position: int
    rng: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RoundEntry:
    """A round of a run is complete.

    Attributes:
        label: The case's label.
        seed: The repeat's seed.
        strategy: The arm.
        sketches: Fingerprints of the design space of the round's task.
        round: The round.
        trials: Its trials.
        stopped: Why the search of its task ended with this round; empty if it did not.
        state: How to go on from here.
    """

    label: str
    seed: int
    strategy: str
    sketches: tuple[str, ...]
    round: Round
    trials: tuple[Trial, ...]
    stopped: str
    state: SearchState


@dataclass(frozen=True, slots=True)
class LastCheckEntry:
    """The fastest few of a run have been compared, after its last round.

    Attributes:
        label: The case's label.
        seed: The repeat's seed.
        strategy: The arm.
        ranking: What came of it.
    """

    label: str
    seed: int
    strategy: str
    ranking: LastRanking


@dataclass(frozen=True, slots=True)
class FinalEntry:
    """A repeat is complete: all winners have been measured again.

    Attributes:
        label: The case's label.
        seed: The repeat's seed.
        finals: One per arm, in the case's order.
        leads: Per arm, in the same order, every program that led its run; None if they were not
            measured again.
        leads_s: Seconds that measuring the leads took.
        after: What else the machine did at that moment.
    """

    label: str
    seed: int
    finals: tuple[Remeasurement, ...]
    leads: tuple[tuple[Remeasurement, ...], ...] | None
    leads_s: float
    after: MachineState


@dataclass(frozen=True, slots=True)
class AbandonedEntry:
    """A repeat is begun again: nothing that the lines before this one say of it counts.

    Attributes:
        label: The case's label.
        seed: The repeat's seed.
        reason: Why, e.g. that its worker is gone.
    """

    label: str
    seed: int
    reason: str


@dataclass(frozen=True, slots=True)
class NoiseEntry:
    """It was looked at how steady the machine is.

    Attributes:
        machine: The machine, as in a result.
        moment: Whether the session was about to begin to search, or had just ended.
        observed: UTC time, ISO 8601.
        trace: What was seen.
    """

    machine: Mapping[str, Any]
    moment: Moment
    observed: str
    trace: NoiseTrace


@dataclass(frozen=True, slots=True)
class YardsticksEntry:
    """It was measured what the kernels of a case are held against besides each other.

    Attributes:
        label: The case's label.
        yardsticks: What was measured, on the machine of the repeats that follow.
    """

    label: str
    yardsticks: Yardsticks


@dataclass(frozen=True, slots=True)
class EndEntry:
    """The session came to its end; there is nothing to go on with.

    Attributes:
        cases: How many cases it ran.
    """

    cases: int


Entry = (
    SessionEntry
    | CaseEntry
    | YardsticksEntry
    | RepeatEntry
    | RecordedEntry
    | RoundEntry
    | LastCheckEntry
    | FinalEntry
    | AbandonedEntry
    | NoiseEntry
    | EndEntry
)

KINDS: Final[Mapping[str, type[Entry]]] = MappingProxyType(
    {
        "session": SessionEntry,
        "case": CaseEntry,
        "yardsticks": YardsticksEntry,
        "repeat": RepeatEntry,
        "recorded": RecordedEntry,
        "round": RoundEntry,
        "last-check": LastCheckEntry,
        "final": FinalEntry,
        "abandoned": AbandonedEntry,
        "noise": NoiseEntry,
        "end": EndEntry,
    }
)
"""By the word in a line's `kind`."""
