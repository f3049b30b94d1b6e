"""The lines of a journal: what has to survive for a run to go on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from pytest_ansorbench.codec import dump_json, from_json, parse_json, to_json
from pytest_ansorbench.records import (
    Checked,
    LastRanking,
    MachineState,
    Moment,
    NoiseTrace,
    Peer,
    Remeasurement,
    Round,
    Run,
    TaskRecord,
    Trial,
    Yardsticks,
)
from pytest_ansorbench.records.checks import check, check_seconds
from pytest_ansorbench.records.runs import check_times

JOURNAL_VERSION: Final = 13
OLDEST_JOURNAL_VERSION: Final = 9
"""The first that is still read."""
_LONGEST_SLICE_MS: Final = 10_000.0


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """The first line: under what circumstances everything after it was measured."""

    journal_version: int
    created: str  # UTC time of the session's start, ISO 8601
    machine: Mapping[str, Any]  # what it began on
    commit: Mapping[str, Any]
    settings: Mapping[str, Any]
    cases: tuple[str, ...] = ()  # ids of those that it means to run, in order


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A case begins."""

    label: str  # the case's id in all lines on it, with a number if it is not the first of it
    case: str
    version: str  # hash of its programs
    strategies: tuple[str, ...]  # the reference first
    control: str | None  # the arm that is the reference over again
    flops: int
    tasks: tuple[TaskRecord, ...]  # without sketches, which may depend on the strategy
    programs: tuple[str, ...]  # those of the tasks, packed as in a result
    conditions: Mapping[str, Any]  # all else that decides what is measured, by setting
    repeats: int = 1  # how many there were to be when it began, at most
    limits: Mapping[str, Any] = field(default_factory=dict)  # those of that moment, by figure
    #: As in a result: what makes the case anew; None if that is not known.
    definition: Mapping[str, Any] | None = field(default=None, metadata={"since": 10})


@dataclass(frozen=True, slots=True)
class RepeatEntry:
    """A repeat of a case begins."""

    label: str
    seed: int
    machine: Mapping[str, Any]
    before: MachineState


@dataclass(frozen=True, slots=True)
class RecordedEntry:
    """A run of another day stands in for one of this repeat."""

    label: str
    seed: int
    strategy: str
    created: str  # start of the session that ran it
    first_round_s: float  # of its first round, run again today
    run: Run


@dataclass(frozen=True, slots=True)
class SearchState:
    """What of a search its record does not hold."""

    candidates: str  # the round's schedules, packed by `search.candidates`
    numpy_state: str  # of the run's private generator, 2,496 bytes in base64
    numpy_position: int  # the generator's position in that
    rng: Mapping[str, Any]  # state of the generator that the task's proposer has of its own


@dataclass(frozen=True, slots=True)
class RoundEntry:
    """A round of a run is complete."""

    label: str
    seed: int
    strategy: str
    sketches: tuple[str, ...]  # fingerprints of the design space of the round's task
    round: Round
    trials: tuple[Trial, ...]
    stopped: str  # why the search of its task ended with this round; empty if it did not
    state: SearchState

    def __post_init__(self) -> None:
        for index, trial in enumerate(self.trials):
            check_times(trial, f"trials[{index}]")

    def behind(self) -> RoundEntry:
        """It without what only a run takes that goes on from it: half of a short round."""
        return replace(self, state=replace(self.state, numpy_state=""))


@dataclass(frozen=True, slots=True)
class LastCheckEntry:
    """The fastest few of a run have been compared, after its last round."""

    label: str
    seed: int
    strategy: str
    ranking: LastRanking


@dataclass(frozen=True, slots=True)
class SetEntry:
    """The winners of a repeat have been measured again in a further set of processes."""

    label: str
    seed: int
    finals: tuple[Remeasurement, ...]  # of all sets so far, one an arm, in the case's order
    elapsed_s: float  # of all sets so far
    slice_ms: float  # of a slice
    #: Other libraries that take turns with them.
    peers: tuple[Peer, ...] = field(default=(), metadata={"since": 12})

    def __post_init__(self) -> None:
        check_seconds(self, "elapsed_s")
        fits = 0.0 < self.slice_ms <= _LONGEST_SLICE_MS
        expected = f"milliseconds above 0, up to {_LONGEST_SLICE_MS:g}"
        check(fits, "slice_ms", self.slice_ms, expected)


@dataclass(frozen=True, slots=True)
class LeadsEntry:
    """The leads of a task have been measured again."""

    label: str
    seed: int
    task: int
    leads: tuple[tuple[Remeasurement, ...], ...]  # of each arm, in the case's order
    elapsed_s: float

    def __post_init__(self) -> None:
        check_seconds(self, "elapsed_s")


@dataclass(frozen=True, slots=True)
class FinalEntry:
    """A repeat is complete: all winners have been measured again."""

    label: str
    seed: int
    finals: tuple[Remeasurement, ...]  # one an arm, in the case's order
    #: Of each arm every program that was ever its best; None if they were not measured again.
    leads: tuple[tuple[Remeasurement, ...], ...] | None
    leads_s: float  # that measuring these took
    after: MachineState
    checked: Checked | None = field(default=None, metadata={"since": 10})
    peers: tuple[Peer, ...] = field(default=(), metadata={"since": 12})

    def __post_init__(self) -> None:
        check_seconds(self, "leads_s")


@dataclass(frozen=True, slots=True)
class AbandonedEntry:
    """A repeat is begun again: nothing that the lines before this one say of it counts."""

    label: str
    seed: int
    reason: str


@dataclass(frozen=True, slots=True)
class NoiseEntry:
    """How steady the machine was, at the start or the end of the session."""

    machine: Mapping[str, Any]
    moment: Moment
    observed: str  # UTC time, ISO 8601
    trace: NoiseTrace


@dataclass(frozen=True, slots=True)
class YardsticksEntry:
    """The baselines of a case were measured, on the machine of the repeats that follow."""

    label: str
    yardsticks: Yardsticks


@dataclass(frozen=True, slots=True)
class EndEntry:
    """The session came to its end; there is nothing to go on with."""

    cases: int  # how many it ran


# What is written down of a repeat that has begun
RepeatLine = RecordedEntry | RoundEntry | LastCheckEntry | SetEntry | LeadsEntry | FinalEntry
# What is written down of a repeat while it is carried out
BlockEntry = YardsticksEntry | RepeatEntry | RepeatLine

Entry = SessionEntry | CaseEntry | BlockEntry | AbandonedEntry | NoiseEntry | EndEntry

KINDS: Final[Mapping[str, type[Entry]]] = MappingProxyType(
    {
        "session": SessionEntry,
        "case": CaseEntry,
        "yardsticks": YardsticksEntry,
        "repeat": RepeatEntry,
        "recorded": RecordedEntry,
        "round": RoundEntry,
        "last-check": LastCheckEntry,
        "set": SetEntry,
        "leads": LeadsEntry,
        "final": FinalEntry,
        "abandoned": AbandonedEntry,
        "noise": NoiseEntry,
        "end": EndEntry,
    }
)
"""By the word in a line's `kind`."""
_KIND_OF: Final = {cls: kind for kind, cls in KINDS.items()}


def to_line(entry: Entry) -> str:
    """One line of JSON, without its newline."""
    return dump_json({"kind": _KIND_OF[type(entry)], **to_json(entry)})


def from_line(text: str) -> Entry:
    """The entry that a line stands for, with everything checked.

    Raises:
        ValueError: It is none, or is damaged; the message says what was expected.
    """
    try:
        data = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected JSON, got {error}") from None
    kind = data.pop("kind", None) if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"expected a line with a kind, one of {', '.join(KINDS)}")
    entry: Entry = from_json(KINDS[kind], data)
    return entry
