"""How long a kernel is run to learn its latency: the measurement policies.

A policy runs in the parent, with a stopwatch on a kernel that waits in its own process. A strategy
takes any object with a `measure` like theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final, Protocol, runtime_checkable

#: A mean of 0 s, as a clock may show for a kernel that does nothing, must not divide.
_SHORTEST_S: Final = 1e-9


class Stopwatch(Protocol):
    """Times one kernel on its real inputs.

    A kernel that crashes or takes too long raises an exception in either method. A policy has to
    let it through; the trial counts as failed.
    """

    def first_call(self) -> float:
        """Call the kernel once.

        Returns:
            Seconds, with cold caches and threads yet to start.
        """

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        """Call the kernel once uncounted, then time `samples` times `calls` calls.

        Returns:
            Mean seconds per call, one entry per sample.
        """


class Measurement(Protocol):
    """A measurement policy: best a frozen dataclass, so that a strategy can be shared."""

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """Measure a kernel. Its seconds count as search time.

        Args:
            kernel: The kernel's stopwatch.
            best_s: Latency of the task's best valid trial so far; None if there is none.

        Returns:
            Seconds per call, above 0, one entry per sample, at least one; the trial's latency is
            their median.
        """


@runtime_checkable
class ComparingMeasurement(Measurement, Protocol):
    """A measurement policy that lets a candidate run beside the task's best program so far.

    That program, the *incumbent*, waits in a process of its own for as long as it leads.
    `measure` is used while there is none: for the first candidates of a task, and where an
    engine keeps no processes.
    """

    def compare(self, kernel: Stopwatch, incumbent: Stopwatch, best_s: float) -> tuple[float, ...]:
        """Measure a kernel beside the incumbent. All its seconds count as search time.

        Args:
            kernel: The candidate's stopwatch.
            incumbent: The incumbent's. It has run before, and its process has slept since.
            best_s: The incumbent's latency.

        Returns:
            Seconds per call of the candidate, above 0, one entry per sample, at least one; the
            trial's latency is their median. The candidate takes the lead if that is below
            `best_s`.
        """


@dataclass(frozen=True)
class FixedMeasurement:
    """The same effort for every candidate: MetaSchedule's `EvaluatorConfig`, stock values.

    `repeat` samples, each the mean of at least `number` calls and of as many as fill
    `min_repeat_ms`. TVM's evaluator guesses how many calls that takes from a first few, and
    when these fall short by a hair it starts all over with 1.6 times as many, as happens with
    kernels that get faster as they warm up. Here what is missing is added instead. The first
    few count, too, unless they were over within a tenth of the time: then they may have been
    cold.

    Attributes:
        number: Calls a sample averages over, at least.
        repeat: Samples.
        min_repeat_ms: Milliseconds a sample lasts, at least.
    """

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """Measure a kernel, whatever the best so far."""
        return tuple(self._sample(kernel) for _ in range(self.repeat))

    def _sample(self, kernel: Stopwatch) -> float:
        [mean_s] = kernel.time(self.number)
        if mean_s * self.number >= self.min_repeat_ms / 1e3:
            return mean_s
        warm = mean_s * self.number >= self.min_repeat_ms / 1e4
        spent_s, done = (mean_s * self.number, self.number) if warm else (0.0, 0)
        while (missing_s := self.min_repeat_ms / 1e3 - spent_s) > 0:
            calls = _calls(missing_s, mean_s)
            [mean_s] = kernel.time(calls)
            spent_s += max(mean_s, _SHORTEST_S) * calls
            done += calls
        return spent_s / done


@dataclass(frozen=True)
class RacingMeasurement:
    """Little effort for those that cannot win, full effort for those that may.

    Three heats; a candidate that is clearly slower than the best so far goes no further and keeps
    the latency it showed, which is all that a cost model needs of a slow candidate:

    1. A glance: one call. It is cold, so only what takes at least `glance_ms` and more than
       `glance_ratio` times the best is given up.
    2. A brief run of `brief_ms`. What is more than `contender_ratio` times the best is given
       up; the ratio leaves room for the scatter of so short a mean.
    3. The full run: `samples` samples that fill `full_ms` together, as long as a stock
       sample, so that the median shrugs off a disturbance.

    `benchmarks/racing.py` shows what this does to which schedule wins.

    Attributes:
        glance_ms: Milliseconds that a first call may take whatever the best so far.
        glance_ratio: Latency over the best so far above which one call is enough.
        brief_ms: Milliseconds of the brief run.
        contender_ratio: Latency over the best so far up to which a candidate is a contender.
        full_ms: Milliseconds of the full run, all samples together.
        samples: Samples of the full run; fewer if the kernel is slow.
    """

    glance_ms: float = 10.0
    glance_ratio: float = 4.0
    brief_ms: float = 10.0
    contender_ratio: float = 1.25
    full_ms: float = 100.0
    samples: int = 5

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """Measure a kernel as far as it stays in the race."""
        latency_s, contends = self.heats(kernel, best_s)
        return self.full_run(kernel, latency_s) if contends else (latency_s,)

    def heats(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, bool]:
        """The glance and the brief run.

        Returns:
            Seconds per call in the last of them, and whether the kernel is a contender.
        """
        best_s = math.inf if best_s is None else best_s
        first_s = kernel.first_call()
        if first_s >= self.glance_ms / 1e3 and first_s > self.glance_ratio * best_s:
            return first_s, False
        [mean_s] = kernel.time(_calls(self.brief_ms / 1e3, first_s))
        return mean_s, mean_s <= self.contender_ratio * best_s

    def full_run(self, kernel: Stopwatch, latency_s: float) -> tuple[float, ...]:
        """Seconds per call, one entry a sample, of a kernel that takes about `latency_s`."""
        calls = max(3, _calls(self.full_ms / 1e3, latency_s))
        samples = min(self.samples, calls)
        return kernel.time(math.ceil(calls / samples), samples)


@dataclass(frozen=True)
class PairedMeasurement:
    """Racing, but contenders run in turn with the incumbent, slice by slice.

    Slices that follow each other within milliseconds meet nearly the same machine, so their ratio
    says which is faster where two latencies of different moments say little. After a race's glance
    and brief run:

    - What seems slower than a contender, but not by much, gets another slice beside one of the
      incumbent, and is given up only if it is slower than a contender in these as well.
    - A contender takes turns with the incumbent, A B then B A. Its latency is the incumbent's
      times the ratio of each pair.
    - It goes on for as long as it may take the lead. Once too many pairs say otherwise, the rest
      could not change that (a curtailed test: same outcome, fewer samples), and what is left is
      the latency of a loser, of which a cost model needs no third digit.
    - It takes the lead only if it is clearly faster: if at most `doubt` of the pairs say
      otherwise. Latencies of leaders are products of ratios, so a lead by luck would stay in
      all later ones. Of candidates that equal the incumbent half would lead by luck, and after
      60 of them the latency is off by a fifth; with a clear lead it is off by 1%
      (docs/measurement.md). What is not clearly faster counts as no faster.

    Without an incumbent it is `race`. It takes no longer than `race` does, except for the two
    slices that may save a contender.

    Attributes:
        race: Glance, brief run, and what is done without an incumbent.
        slice_ms: Milliseconds of a slice; one call of a kernel that takes longer.
        pairs: Pairs of slices of a candidate that takes the lead; fewer if they do not fit into
            a race's full run. Others have two at least.
        doubt: Share of the pairs that may speak against a candidate that takes the lead.
        doubtful_ratio: Latency over the incumbent's in the brief run above which a candidate is
            given up whatever the machine does at this moment.
    """

    race: RacingMeasurement = field(default_factory=RacingMeasurement)
    slice_ms: float = 5.0
    pairs: int = 10
    doubt: float = 0.125
    doubtful_ratio: float = 2.0

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """Measure a kernel alone; see `RacingMeasurement`."""
        return self.race.measure(kernel, best_s)

    def compare(self, kernel: Stopwatch, incumbent: Stopwatch, best_s: float) -> tuple[float, ...]:
        """Measure a kernel beside the incumbent; see `ComparingMeasurement`."""
        latency_s, contends = self.race.heats(kernel, best_s)
        if not contends:
            if latency_s > self.doubtful_ratio * best_s:
                return (latency_s,)
            ratio = self._slice_s(kernel, latency_s) / self._slice_s(incumbent, best_s)
            if ratio > self.race.contender_ratio:
                return (best_s * ratio,)
        return self._verdict(self._ratios(kernel, incumbent, latency_s, best_s), best_s)

    def _ratios(
        self, kernel: Stopwatch, incumbent: Stopwatch, latency_s: float, best_s: float
    ) -> list[float]:
        pair_s = self._duration_s(latency_s) + self._duration_s(best_s)
        pairs = min(self.pairs, max(2, int(self.race.full_ms / 1e3 / pair_s)))
        ratios = []
        for pair in range(pairs):
            if pair % 2 == 0:
                mine_s = self._slice_s(kernel, latency_s)
                its_s = self._slice_s(incumbent, best_s)
            else:
                its_s = self._slice_s(incumbent, best_s)
                mine_s = self._slice_s(kernel, latency_s)
            ratios.append(mine_s / its_s)
            if len(ratios) >= 2 and _against(ratios) > self.doubt * pairs:
                break
        return ratios

    def _verdict(self, ratios: Sequence[float], best_s: float) -> tuple[float, ...]:
        if median(ratios) < 1.0 and _against(ratios) > self.doubt * len(ratios):
            return tuple(best_s * max(1.0, ratio) for ratio in ratios)
        return tuple(best_s * ratio for ratio in ratios)

    def _slice_s(self, kernel: Stopwatch, latency_s: float) -> float:
        """Seconds per call in a slice of a kernel that takes about `latency_s`.

        The uncounted call before a slice finds what the other kernel has pushed out of the
        caches. That matters little to a call that is longer than a slice, and would double it.
        """
        if latency_s >= self.slice_ms / 1e3:
            return max(kernel.first_call(), _SHORTEST_S)
        [mean_s] = kernel.time(self._calls(latency_s))
        return max(mean_s, _SHORTEST_S)

    def _duration_s(self, latency_s: float) -> float:
        latency_s = max(latency_s, _SHORTEST_S)
        if latency_s >= self.slice_ms / 1e3:
            return latency_s
        return (self._calls(latency_s) + 1) * latency_s

    def _calls(self, latency_s: float) -> int:
        return max(1, round(self.slice_ms / 1e3 / max(latency_s, _SHORTEST_S)))


@dataclass(frozen=True)
class ColdMeasurement:
    """Single calls, each after the caches were emptied: what an engine that flushes uses.

    It takes the place of a strategy's own policy, which averages over calls that find their
    data in the cache. TVM's own advice for its cache flush is one call a sample as well.

    Attributes:
        samples: Calls, each a sample of its own.
    """

    samples: int = 10

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """Measure a kernel, whatever the best so far."""
        return kernel.time(1, self.samples)


@dataclass(frozen=True)
class NetworkMeasurement:
    """Single calls, each after what a network would have done: what an engine that does so uses.

    It takes the place of a strategy's own policy, whose calls would take a hundred times as long
    as it reckons with: up to some milliseconds precede each of them. A few calls show which
    candidates cannot win; the others get more.

    Attributes:
        few: Calls of a candidate that cannot win, each a sample of its own.
        contender_ratio: Median of the few over the best so far up to which there are more.
        samples: Calls beyond the few, each a sample of its own.
    """

    few: int = 5
    contender_ratio: float = 1.5
    samples: int = 20

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """Measure a kernel as far as it stays in the race."""
        first = kernel.time(1, self.few)
        if best_s is not None and median(first) > self.contender_ratio * best_s:
            return first
        return (*first, *kernel.time(1, self.samples))


def _against(ratios: Sequence[float]) -> int:
    """How many pairs saw a candidate no faster than the incumbent."""
    return sum(ratio >= 1.0 for ratio in ratios)


def _calls(duration_s: float, latency_s: float) -> int:
    return max(1, math.ceil(duration_s / max(latency_s, _SHORTEST_S)))
