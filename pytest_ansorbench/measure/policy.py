"""How long a kernel is run to learn its latency."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FixedMeasurement:
    """The same effort for every candidate: MetaSchedule's `EvaluatorConfig`, stock values.

    One uncounted call, then `repeat` samples, each the mean of at least `number` calls and
    of as many as fill `min_repeat_ms`.

    Attributes:
        number: Calls a sample averages over, at least.
        repeat: Samples.
        min_repeat_ms: Milliseconds a sample lasts, at least.
    """

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
