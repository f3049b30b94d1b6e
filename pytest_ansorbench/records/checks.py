"""What values of records have to satisfy beyond their types, which statistics take for granted.

A median needs a sample, a ratio a latency above 0. Records check themselves when they are made, so
that neither a file from a stranger nor an engine brings anything else in.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Sequence
from typing import Final

MOST_SECONDS: Final = 1e9
"""Thirty years: nobody's search, and far from where sums overflow."""
LEAST_LATENCY_S: Final = 1e-12
SECONDS: Final = f"seconds from 0 to {MOST_SECONDS:.0e}"
LATENCIES: Final = f"all from {LEAST_LATENCY_S:.0e} to {MOST_SECONDS:.0e} seconds"


class RecordError(ValueError):
    """A value that does not fit its record.

    Attributes:
        where: Path from the outermost record to the value, e.g. `cases[0].runs[2].seed`;
            empty for the outermost record itself.
        value: The value.
        expected: What would have fitted.
    """

    def __init__(self, where: str, value: object, expected: str) -> None:
        super().__init__(f"bad {where or 'value'} {reprlib.repr(value)}: expected {expected}")
        self.where = where
        self.value = value
        self.expected = expected

    def within(self, step: str) -> RecordError:
        """The same error with the path a step longer: a field's name, or an index like `[2]`."""
        joint = "" if self.where.startswith("[") or not self.where else "."
        return RecordError(f"{step}{joint}{self.where}", self.value, self.expected)


def check(fits: bool, where: str, value: object, expected: str) -> None:
    """Raise a `RecordError` unless a value fits."""
    if not fits:
        raise RecordError(where, value, expected)


def check_seconds(record: object, *fields: str) -> None:
    """Check that fields of a record are seconds."""
    for name in fields:
        seconds = getattr(record, name)
        check(0.0 <= seconds <= MOST_SECONDS, name, seconds, SECONDS)


def are_latencies(samples: Sequence[float]) -> bool:
    """Whether all samples may be seconds a call; so may none."""
    return not samples or LEAST_LATENCY_S <= min(samples) <= max(samples) <= MOST_SECONDS


def check_samples(status: str, samples: Sequence[float], where: str = "latencies_s") -> None:
    """Check that there are samples for status `ok`, and none for any other."""
    if status != "ok":
        check(not samples, where, samples, f"no samples for status {status!r}")
    else:
        expected = f"at least one sample, {LATENCIES}, for status 'ok'"
        check(bool(samples) and are_latencies(samples), where, samples, expected)


def ascend(values: Sequence[int], in_order: Callable[[int, int], bool] = operator.lt) -> bool:
    """Whether values are in ascending order, by default without equal ones."""
    return all(map(in_order, values, values[1:]))
