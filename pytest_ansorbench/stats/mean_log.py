"""Means of logarithms with their errors: of one kernel's sets of processes, of several kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.student import t_quantile, upper_tail


@dataclass(frozen=True, slots=True)
class MeanLog:
    """A mean of logarithms.

    Attributes:
        value: The mean.
        error: Its standard error; infinity if a single value tells none.
        degrees: Degrees of freedom of the error; whole ones, rounded down, at least 1.
    """

    value: float
    error: float
    degrees: int

    @classmethod
    def of(cls, logs: Sequence[float]) -> MeanLog:
        """The mean of independent values, at least one."""
        if len(logs) < 2:
            return cls(fmean(logs), math.inf, 1)
        return cls(fmean(logs), stdev(logs) / math.sqrt(len(logs)), len(logs) - 1)

    @classmethod
    def average(cls, parts: Sequence[MeanLog]) -> MeanLog:
        """The mean of independent means, each weighed alike."""
        return cls._sum([part.value for part in parts], parts, 1.0 / len(parts))

    def minus(self, other: MeanLog) -> MeanLog:
        """The difference to an independent mean."""
        return self._sum([self.value, -other.value], [self, other], 1.0)

    @classmethod
    def _sum(cls, values: Sequence[float], parts: Sequence[MeanLog], weight: float) -> MeanLog:
        """A weighted sum; degrees of freedom by Welch and Satterthwaite.

        https://en.wikipedia.org/wiki/Welch%E2%80%93Satterthwaite_equation
        """
        squares = [(weight * part.error) ** 2 for part in parts]
        total = sum(squares)
        degrees = 1
        if 0.0 < total < math.inf:
            shares = [square / total for square in squares]
            rest = sum(share**2 / part.degrees for share, part in zip(shares, parts, strict=True))
            degrees = max(1, math.floor(1.0 / rest + 1e-9))
        elif total == 0.0:
            degrees = sum(part.degrees for part in parts)
        return cls(weight * sum(values), math.sqrt(total), degrees)

    def estimate(self, confidence: float) -> Estimate:
        """The ratio whose logarithm this is, with its interval by Student's t.

        Args:
            confidence: In (0, 1).
        """
        if math.isinf(self.error):
            return Estimate(math.exp(self.value), 0.0, math.inf)
        half = t_quantile(confidence, self.degrees) * self.error
        return Estimate(
            math.exp(self.value), math.exp(self.value - half), math.exp(self.value + half)
        )

    def chance_below(self, limit: float) -> float:
        """Probability of a ratio this small or smaller, if the true one were a limit."""
        excess = math.log(limit) - self.value
        if math.isinf(self.error):
            return 1.0
        if self.error == 0.0:
            return 0.0 if excess > 0.0 else 1.0
        return upper_tail(excess / self.error, self.degrees)
