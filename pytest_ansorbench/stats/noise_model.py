"""What a machine's noise is like, and what can be measured in it.

Noise has a scatter and a memory. What is still there a moment later drops out of the ratio of two
slices that follow each other; what lasts longer than a whole measurement spoils its level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.records import NoiseTrace
from pytest_ansorbench.stats.paired_ratio import Z95, NeighbourRatios

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAGS_S: Final = (0.003, 0.01, 0.03, 0.1, 0.3)  # lags at which the autocorrelation is reported
SLICES_MS: Final = (2.0, 5.0)  # lengths of slices to choose from
_USUAL_SLICE_MS: Final = 5.0
_HALF: Final = 0.5
_FORGOTTEN: Final = math.exp(-1.0)
_FEWEST: Final = 16  # slices below which nothing is said
# A slice this many standard deviations off counts as that far off, and no farther
_WINSOR: Final = 3.0


@dataclass(frozen=True, slots=True)
class NoiseFigures:
    """What a trace comes to. Differences are of natural logarithms, so near to shares."""

    slice_s: float  # seconds of a slice
    seconds: float  # seconds that the trace took
    level_s: float  # median latency
    scatter: float  # standard deviation of a slice, as `_scatter` takes it
    # Lags in seconds, and the autocorrelation at each; those of `LAGS_S` from one slice to the
    # next up to `told_s`, none if there was no scatter
    memory: tuple[tuple[float, float], ...]
    told_s: float  # the longest lag that is reported, a quarter of the trace
    # The lag at which the autocorrelation falls below 1/e; None if it does not up to `told_s`
    forgotten_s: float | None
    # How far off a ratio may be that is measured side by side for as long as the trace is: half
    # the 95% interval of the median of its pairs, or what the two equal processes differ by, if
    # that is more
    ratio_error: float
    level_error: float  # half the 95% interval of a latency that is measured for as long


def noise_figures(trace: NoiseTrace) -> NoiseFigures | None:
    """Sum up a trace; None if it has too few slices."""
    if len(trace.latencies_s) < _FEWEST:
        return None
    logs = _centred(trace)
    correlation = _autocorrelation(logs)
    step_s = _step_s(trace)
    forgotten = [lag for lag, left in enumerate(correlation) if left < _FORGOTTEN]
    return NoiseFigures(
        slice_s=trace.slice_s,
        seconds=trace.elapsed_s,
        level_s=median(trace.latencies_s),
        scatter=_scatter(logs),
        memory=tuple(
            (lag_s, float(correlation[_lag(lag_s, step_s)]))
            for lag_s in LAGS_S
            if lag_s > step_s / 2 and _lag(lag_s, step_s) < len(correlation)
        ),
        told_s=step_s * (len(logs) // 4),
        forgotten_s=forgotten[0] * step_s if forgotten else None,
        ratio_error=_ratio_error(trace),
        level_error=_level_error(logs, correlation),
    )


def slice_ms_for(trace: NoiseTrace | None) -> float:
    """How long slices should be on a machine.

    A longer slice averages more of the noise that is over at once, but only within a time for
    which the rest stays as it is does its neighbour meet the same. Beyond 5 ms it was measured to
    make ratios no surer, and turns longer: docs/measurement.md.

    The longest of `SLICES_MS` within which the noise keeps at least half of its memory;
    the usual length if it has none that long, or if nothing is known.
    """
    if trace is None or len(trace.latencies_s) < _FEWEST:
        return _USUAL_SLICE_MS
    correlation, step_s = _autocorrelation(_centred(trace)), _step_s(trace)
    chosen = None
    for slice_ms in SLICES_MS:
        lag = _lag(slice_ms / 1e3, step_s)
        if lag >= len(correlation) or correlation[lag] < _HALF:
            break
        chosen = slice_ms
    return _USUAL_SLICE_MS if chosen is None else chosen


def noisiest(figures: Iterable[NoiseFigures]) -> NoiseFigures | None:
    """The figures with the greatest scatter; None of none."""
    return max(figures, key=lambda one: one.scatter, default=None)


def _step_s(trace: NoiseTrace) -> float:
    """Seconds from slice to slice, on the mean: what disturbs a slice makes it longer, too."""
    return trace.elapsed_s / len(trace.latencies_s)


def _lag(lag_s: float, step_s: float) -> int:
    """A lag in slices, at least from one to the next."""
    return max(1, round(lag_s / step_s))


def _centred(trace: NoiseTrace) -> NDArray[Any]:
    """Logarithms of the latencies, less the median of their process.

    Processes of one kernel may differ for as long as they live, which is no noise of the moment.
    """
    logs, processes = np.log(trace.latencies_s), np.array(trace.processes)
    for process in (0, 1):
        own = processes == process
        logs[own] -= np.median(logs[own])
    return logs


def _scatter(logs: NDArray[Any]) -> float:
    """Half the range of the middle 68%: the standard deviation, if the distribution is normal.

    A few slices that took many times as long would decide a plain standard deviation alone.
    """
    low, high = np.quantile(logs, [0.1587, 0.8413])
    return float(high - low) / 2


def _autocorrelation(logs: NDArray[Any]) -> NDArray[Any]:
    """Autocorrelation from lag 0 up to a quarter of the slices; empty without a scatter.

    See https://en.wikipedia.org/wiki/Autocorrelation#Estimation. Outliers are pulled in, as a
    single one could hide what all other slices remember.
    """
    pulled = _pulled(logs)
    variance = float(np.mean(pulled**2))
    if variance == 0.0:
        return np.empty(0)
    n = len(pulled)
    products = [np.mean(pulled[: n - lag] * pulled[lag:]) for lag in range(n // 4 + 1)]
    return np.array(products) / variance


def _pulled(logs: NDArray[Any]) -> NDArray[Any]:
    bound = _WINSOR * _scatter(logs)
    pulled: NDArray[Any] = np.clip(logs, -bound, bound)
    return pulled - float(pulled.mean())


def _ratio_error(trace: NoiseTrace) -> float:
    logs = np.log(trace.latencies_s)
    signs = np.where(np.array(trace.processes) == 0, 1.0, -1.0)
    pairs = [float(pair) for pair in (signs * logs)[: len(logs) // 2 * 2].reshape(-1, 2).sum(1)]
    ratios = NeighbourRatios((pairs,))
    return max(abs(ratios.log_ratio), ratios.last_half_width())


def _level_error(logs: NDArray[Any], correlation: NDArray[Any]) -> float:
    """Half the 95% interval of a mean of slices that remember each other.

    The mean of n slices is worth that of n / tau independent ones, where tau is one plus twice
    the sum of the autocorrelations; the sum ends where they are first below 0, beyond which there
    is nothing but error (https://dfm.io/posts/autocorr/).
    """
    if not len(correlation):
        return 0.0
    below = np.flatnonzero(correlation < 0.0)
    end = int(below[0]) if len(below) else len(correlation)
    n = len(logs)
    tau = min(float(n), max(1.0, 1.0 + 2.0 * float(correlation[1:end].sum())))
    return Z95 * float(_pulled(logs).std()) * math.sqrt(tau / n)
