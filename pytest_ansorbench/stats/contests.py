"""Recorded runs of any number of sessions, sorted into contests: who met whom, and where.

Runs meet under the same conditions only: those by which two results are comparable (see `changes`),
the same machine and kind of progress. The same case under other conditions is another contest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_ansorbench.records import CaseResult, Result, Run
from pytest_ansorbench.stats.changes import SAME
from pytest_ansorbench.stats.criteria import Criteria, Progress
from pytest_ansorbench.stats.paired_runs import PairedRuns, gain_of, pair_runs, progress_of
from pytest_ansorbench.stats.trajectory import Trajectory, first_and_best


@dataclass(frozen=True, slots=True)
class Conditions:
    """What runs have in common that may be compared."""

    case: str
    version: str  # of the case's programs
    machine: str
    same: tuple[float | str, ...]  # the fields of `SAME`, 0 where there is none
    progress: Progress  # by which latencies a run's progress is told
    landscape: str  # that was searched instead of a machine; empty without one

    def differences(self, others: Sequence[Conditions]) -> Iterator[str]:
        """What is not the same in all others, in words."""
        for name in ("version", "machine", "progress", "landscape"):
            if any(getattr(self, name) != getattr(other, name) for other in others):
                yield f"{name} {getattr(self, name) or 'none'}"
        for place, (value, (_, words)) in enumerate(zip(self.same, SAME, strict=True)):
            if any(value != other.same[place] for other in others):
                yield f"{value if isinstance(value, str) else f'{value:.15g}'} {words}"


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One run of an arm."""

    session: int  # runs of one session took turns, and their winners were measured side by side
    run: Trajectory
    seconds_error: float  # as `PairedRuns` has it

    @property
    def seed(self) -> int:
        return self.run.run.seed


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """A case, and the arms that met on it under the same conditions."""

    conditions: Conditions
    arms: Mapping[str, Sequence[Entry]]  # at least one run each
    baselines: Mapping[str, float]  # latencies of other implementations, in seconds

    @property
    def flops(self) -> int:
        return int(self.conditions.same[0])

    def of(self, names: Sequence[str]) -> Contest:
        """The contest of some arms only."""
        return replace(self, arms={arm: runs for arm, runs in self.arms.items() if arm in names})

    def runs_of(self, arm: str) -> list[Trajectory]:
        return [entry.run for entry in self.arms[arm]]

    def gain(self, reference: str | None, tolerance: float) -> tuple[float, float] | None:
        """Throughputs, in calls a second, where the gain that targets divide begins and ends.

        Those of the reference as S has them. Without one, from the median of all runs' first
        kernels to the best of any, less the tolerance: so do data profiles choose targets where no
        optimum is known (Moré and Wild 2009, https://doi.org/10.1137/080724083), and no arm's name
        matters. None if there is no reference, or no kernel.
        """
        names = [*self.arms] if reference is None else [reference]
        runs = [run for name in names if name in self.arms for run in self.runs_of(name)]
        found = [run for run in runs if len(run.latency_s)]
        if not found:
            return None
        runs = found if reference is None else runs
        first, best = first_and_best(runs)
        start, end = gain_of(first, best if reference else best[[best.argmax()]], tolerance)
        return float(start), float(end)

    def paired(
        self, reference: str, challenger: str, criteria: Criteria, gain: tuple[float, float] | None
    ) -> PairedRuns | None:
        """The runs of two arms: of sessions that have both, else of the seeds that both have."""
        pairs = self.together(reference, challenger) or [*self._apart(reference, challenger)]
        if not pairs:
            return None
        return PairedRuns(
            [one.run for one, _ in pairs],
            [other.run for _, other in pairs],
            criteria.goal,
            criteria.tolerance,
            max(entry.seconds_error for pair in pairs for entry in pair),
            gain,
        )

    def together(self, one: str, other: str) -> list[tuple[Entry, Entry]]:
        """Runs of two arms that took turns, as those on a landscape do not."""
        if self.conditions.landscape:
            return []
        mine, theirs = (
            {(entry.session, entry.seed): entry for entry in self.arms.get(name, ())}
            for name in (one, other)
        )
        return [(mine[key], theirs[key]) for key in sorted(mine.keys() & theirs.keys())]

    def _apart(self, one: str, other: str) -> Iterator[tuple[Entry, Entry]]:
        mine, theirs = (_by_seed(self.arms.get(name, ())) for name in (one, other))
        for seed in sorted(mine.keys() & theirs.keys()):
            yield from zip(mine[seed], theirs[seed], strict=False)


def contests_of(results: Sequence[Result], criteria: Criteria) -> tuple[Contest, ...]:
    """Sort the runs of sessions into contests; neither order of results nor of arms matters.

    Raises:
        ValueError: A run of a machine is in two results.
    """
    arms: dict[Conditions, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    baselines: dict[Conditions, dict[str, float]] = defaultdict(dict)
    in_order = sorted(results, key=lambda result: result.created)
    sessions = (case for result in in_order for case in result.cases)
    for session, case in enumerate(sessions):
        for conditions, runs in _by_conditions(case, criteria).items():
            counted = replace(criteria, progress=conditions.progress)
            for entry in _entries(session, case, runs, counted):
                known = arms[conditions][entry.run.run.strategy]
                if _is_new(entry, known):
                    known.append(entry)
            for found in case.yardsticks:
                if found.machine == conditions.machine:
                    for kernel in found.kernels:
                        if kernel.latency_s is not None:
                            baselines[conditions][kernel.implementation] = kernel.latency_s
    return tuple(
        Contest(conditions, dict(arms[conditions]), baselines[conditions])
        for conditions in sorted(arms, key=lambda one: (one.case, str(one)))
    )


def _by_conditions(case: CaseResult, criteria: Criteria) -> Mapping[Conditions, Sequence[Run]]:
    found: dict[Conditions, list[Run]] = defaultdict(list)
    progress = progress_of(case.runs, criteria)
    for run in case.runs:
        conditions = Conditions(
            case=case.case,
            version=case.version,
            machine=run.machine,
            same=tuple(getattr(run, name) or 0 for name, _ in SAME),
            progress=progress,
            landscape=run.landscape,
        )
        found[conditions].append(run)
    return found


def _entries(
    session: int, case: CaseResult, runs: Sequence[Run], criteria: Criteria
) -> Iterator[Entry]:
    """The runs of a session, their winners' latencies by their ratios to the first arm's."""
    by_arm = {name: [run for run in runs if run.strategy == name] for name in case.strategies}
    present = [of_arm for of_arm in by_arm.values() if of_arm]
    for of_arm in present:
        paired = pair_runs(present[0], of_arm, criteria)
        for run in paired.challenger:
            yield Entry(session, run, paired.seconds_error if of_arm is present[0] else 0.0)


def _is_new(entry: Entry, known: Sequence[Entry]) -> bool:
    """Whether a run is not there yet; a search of a landscape is the same each time."""
    run = entry.run.run
    if not any(run == other.run.run for other in known if other.seed == entry.seed):
        return True
    if run.landscape:
        return False
    raise ValueError(
        f"bad results: two of them have the same run of {run.strategy} on {run.case} with "
        f"seed {run.seed}; expected each run once"
    )


def _by_seed(entries: Sequence[Entry]) -> Mapping[int, Sequence[Entry]]:
    found: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.seed].append(entry)
    return found
