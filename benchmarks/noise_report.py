"""Tables and figures from what `noise.py` has measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from figures import figure
from tabulate import tabulate

from pytest_ansorbench.stats.paired_ratio import NeighbourRatios
from pytest_ansorbench.stats.power import t_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: From 0.03 to 5 ms a call on two cores.
OPERATORS: Final = (
    "depthwise-conv2d-n1-h14-w14-c512-k3-s1-p1",
    "matmul-b12-m128-n64-k128",
    "matmul-b1-m128-n768-k768",
    "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1",
    "conv1d-n1-l3000-ci80-co384-k3-s1-p1",
)
#: More work, in percent, of the kernels that are compared with one of known work.
OTHER_PERCENT: Final = (1, 2, 5)
#: What the ways to measure are called; `brief` is the beginning of `equal`.
WAYS: Final = {
    "former": "10 samples, rested",
    "default": "slices, default effort",
    "equal": "slices, seconds of the former",
    "brief": "slices, 3 s an arm",
    "cheap": "slices, 2 s in all",
}
BRIEF_S: Final = 3.0 * 2
LAGS_S: Final = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
CONFIDENCE: Final = 0.95

Piece = Mapping[str, Any]


def report(pieces: Sequence[Piece]) -> str:
    """Everything as text: a paragraph for each part that there is."""
    parts = (noise_text, work_text, place_text, memory_text)
    texts = [text for part in parts if (text := part(pieces))]
    measured_s = math.fsum(piece["seconds"] for piece in pieces)
    busy = max((piece["busy_cores"] for piece in pieces), default=math.nan)
    end = (
        f"{len(pieces)} pieces, {measured_s / 60:.1f} minutes; after them at most {busy:.2f} cores "
        "of other work"
    )
    return "\n\n".join([*texts, end])


def of(pieces: Sequence[Piece], **key: Any) -> list[Piece]:
    """The pieces with this key, in the order they were measured in."""
    return [piece for piece in pieces if key.items() <= piece.items()]


def percent(log: float, digits: int = 2) -> str:
    """A small logarithm as text; near 0 it is the relative difference."""
    return f"{100 * log:.{digits}f}%"


class Way:
    """One way to measure the same kernel twice, on one operator.

    Attributes:
        log_ratios: Of each fresh measurement; 0 would be right.
        seconds: Of a measurement, the median.
    """

    def __init__(self, pieces: Sequence[Piece], operator: str, name: str) -> None:
        """Collect the measurements."""
        brief = name == "brief"
        source = of(pieces, part="noise", operator=operator, way="equal" if brief else name)
        self.log_ratios = [
            beginning(piece) if brief else float(piece["log_ratios"][0]) for piece in source
        ]
        seconds = [min(BRIEF_S if brief else math.inf, piece["seconds"]) for piece in source]
        self.seconds = median(seconds) if seconds else math.nan

    @property
    def rms(self) -> float:
        """Root mean square of the logarithms."""
        return math.sqrt(fmean(log * log for log in self.log_ratios))


def beginning(piece: Piece) -> float:
    """What a measurement would have come to had it ended after `BRIEF_S`.

    Its sets take equally long, so as large a part of them was done by then.
    """
    [logs] = piece["logs"]
    done = max(1, math.floor(len(logs) * min(1.0, BRIEF_S / piece["seconds"])))
    return NeighbourRatios(logs[:done]).log_ratio


def by_operator(pieces: Sequence[Piece]) -> dict[str, dict[str, Way]]:
    """Per operator that has been measured twice by every way, its ways."""
    found = {}
    for operator in OPERATORS:
        ways = {name: Way(pieces, operator, name) for name in WAYS}
        if min(len(way.log_ratios) for way in ways.values()) >= 2:
            found[operator] = ways
    return found


def level_s(pieces: Sequence[Piece], operator: str) -> float:
    """Latency of an operator's kernel."""
    measured = of(pieces, part="noise", operator=operator)
    return median(float(level_s) for piece in measured for level_s in piece["levels_s"])


def noise_text(pieces: Sequence[Piece]) -> str:
    """Scatter of the ratio of a kernel to itself."""
    rows = []
    for operator, ways in by_operator(pieces).items():
        for name, way in ways.items():
            first = name == "former"
            rows.append(
                [
                    operator if first else "",
                    f"{1e3 * level_s(pieces, operator):.3f}" if first else "",
                    WAYS[name],
                    len(way.log_ratios),
                    f"{way.seconds:.1f}",
                    percent(way.rms),
                    percent(stdev(way.log_ratios)),
                    percent(max(map(abs, way.log_ratios))),
                    "" if first else f"{way.rms / ways['former'].rms:.2f}",
                ]
            )
    headings = ("operator", "latency (ms)", "measured by", "times", "seconds", "rms")
    headings += ("standard deviation", "largest", "of the former")
    title = "The same kernel as two arms: logarithm of the ratio, which ought to be 0"
    return _table(title, rows, headings, ("left", "right", "left", *["right"] * 6))


def _table(
    title: str,
    rows: Sequence[Sequence[object]],
    headings: Sequence[str],
    aligned: Sequence[str] | None = None,
) -> str:
    if not rows:
        return ""
    aligned = aligned or ["right"] * len(headings)
    table = tabulate(rows, headings, colalign=aligned, disable_numparse=True)
    return f"{title}\n{table}"


def work_text(pieces: Sequence[Piece]) -> str:
    """Estimates of known differences."""
    measured = of(pieces, part="work", lineup="work")
    if len(measured) < 2:
        return ""
    rows = []
    for place, more in enumerate(OTHER_PERCENT):
        truth = math.log1p(more / 100)
        logs = [piece["log_ratios"][place] for piece in measured]
        # A measurement too short for an interval promises nothing: the interval is infinite.
        widths = [
            math.inf if (width := piece["half_widths"][place]) is None else width
            for piece in measured
        ]
        inside = [abs(log - truth) <= width for log, width in zip(logs, widths, strict=True)]
        rows.append(
            [
                f"{more}%",
                f"{100 * math.expm1(fmean(logs)):.2f}%",
                interval([log - truth for log in logs]),
                percent(stdev(logs)),
                percent(median(widths)),
                f"{sum(inside)} of {len(inside)}",
            ]
        )
    seconds = median(piece["seconds"] for piece in measured)
    title = (
        f"Kernels whose work is known, {len(OTHER_PERCENT) + 1} arms in {seconds:.1f} s at the "
        "default effort"
    )
    headings = ("more work", "estimate", "off by (log)", "standard deviation", "half interval")
    return _table(title, rows, (*headings, "truth inside"))


def place_text(pieces: Sequence[Piece]) -> str:
    """Whether an arm is favoured by its place."""
    orders = [of(pieces, part="work", lineup=lineup) for lineup in ("forward", "backward")]
    logs = [
        (forward["log_ratios"][0] + backward["log_ratios"][0]) / 2
        for forward, backward in zip(*orders, strict=False)
    ]
    if len(logs) < 2:
        return ""
    return f"First against second arm, orders averaged, which ought to be 0: {interval(logs)}"


def interval(values: Sequence[float]) -> str:
    """A mean and Student's interval of it."""
    half = t_quantile(CONFIDENCE, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return f"{100 * fmean(values):+.2f}% +- {percent(half)}"


def memory_text(pieces: Sequence[Piece]) -> str:
    """How far one kernel scatters, and how soon that is forgotten."""
    traces = of(pieces, part="memory")
    if not traces:
        return ""
    logs, period_s = np.log(traces[0]["latencies_s"]), float(traces[0]["period_s"])
    correlations = autocorrelation(logs, round(max(LAGS_S) / period_s))
    lines = [
        f"One kernel of {1e3 * float(np.exp(np.median(logs))):.3f} ms in {len(logs)} slices of "
        f"{1e3 * period_s:.1f} ms"
    ]
    of_what = {"scatter": logs, "of the ratio of two neighbours": np.diff(logs)}
    for name, values in of_what.items():
        low, high = np.quantile(values, (0.25, 0.75))
        lines.append(
            f"{name}: standard deviation {percent(float(values.std()), 1)}, by the quartiles "
            f"{percent((high - low) / 1.349, 1)}"
        )
    rows = [
        [f"{1e3 * lag_s:g}", f"{correlations[max(1, round(lag_s / period_s))]:.2f}"]
        for lag_s in LAGS_S
    ]
    return _table("\n".join(lines), rows, ("lag (ms)", "autocorrelation"))


def autocorrelation(values: np.ndarray[Any, np.dtype[Any]], lags: int) -> list[float]:
    """Correlation of a series with itself, so many places later; at most half of its length.

    Returns:
        One per lag, from 0.
    """
    centred = values - values.mean()
    lags = min(lags, len(values) // 2)
    variance = float(centred @ centred)
    sums = [float(centred[: len(centred) - lag] @ centred[lag:]) for lag in range(lags + 1)]
    return [one / variance if variance else 0.0 for one in sums]


def draw_figures(pieces: Sequence[Piece], folder: Path) -> None:
    """Write the figures that there are measurements for."""
    folder.mkdir(parents=True, exist_ok=True)
    if traces := of(pieces, part="memory"):
        path = folder / "noise-memory.svg"
        with figure(path, 1, 2, figsize=(10, 3.8), dpi=200) as (_, panels):
            draw_trace(panels[0], traces[0])
            draw_memory(panels[1], traces[0])
    if found := by_operator(pieces):
        with figure(folder / "noise-method.svg", 1, 1, figsize=(9, 4.5)) as (fig, axes):
            draw_method(axes, found, pieces)
            fig.legend(loc="outside lower center", ncols=3)


def draw_trace(axes: Axes, trace: Piece) -> None:
    """Draw every slice of a kernel over time."""
    latencies_s = np.array(trace["latencies_s"])
    at_s = np.arange(len(latencies_s)) * trace["period_s"]
    relative = latencies_s / np.median(latencies_s)
    # Thousands of marks as an image within the drawing: as marks they would be a megabyte.
    axes.plot(at_s, relative, ".", markersize=2, rasterized=True)
    low, high = np.quantile(relative, (0.001, 0.999))
    axes.set_ylim(0.95 * float(low), 1.05 * float(high))
    axes.set_xlabel("time (s)")
    axes.set_ylabel("latency of a slice, 1 is the median")
    axes.set_title("One kernel, slices of 3 ms")


def draw_memory(axes: Axes, trace: Piece) -> None:
    """Draw how the logarithm of a latency correlates with that of a later slice."""
    period_s = float(trace["period_s"])
    correlations = autocorrelation(np.log(trace["latencies_s"]), round(max(LAGS_S) / period_s))
    lags_ms = 1e3 * period_s * np.arange(1, len(correlations))
    axes.semilogx(lags_ms, correlations[1:])
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.set_xticks([1e3 * lag_s for lag_s in LAGS_S], [f"{1e3 * lag_s:g}" for lag_s in LAGS_S])
    axes.minorticks_off()
    axes.set_xlabel("lag (ms)")
    axes.set_ylabel("autocorrelation")
    axes.set_title("What is left of a slice's noise after a while")


def draw_method(
    axes: Axes, found: Mapping[str, Mapping[str, Way]], pieces: Sequence[Piece]
) -> None:
    """Draw how far a kernel is from itself: a row for each operator, a mark for each way."""
    markers = dict(zip(WAYS, "so^Dv", strict=True))
    for place, (name, told) in enumerate(WAYS.items()):
        seconds = median(ways[name].seconds for ways in found.values())
        scatter = [100 * ways[name].rms for ways in found.values()]
        label = f"{told} ({seconds:.1f} s)"
        # One below the other, so that none hides another.
        rows = np.arange(len(found)) + 0.12 * (place - (len(WAYS) - 1) / 2)
        axes.plot(scatter, rows, markers[name], markersize=7, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(
        range(len(found)),
        [f"{short(operator)}, {1e3 * level_s(pieces, operator):.2g} ms" for operator in found],
    )
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.4)
    axes.set_xlabel("the same kernel as two arms: root mean square of the log ratio (%)")


def short(operator: str) -> str:
    """An operator's family, and what tells it from others of it."""
    family, _, shape = operator.partition("-n1-")
    return family if shape else "-".join(operator.split("-")[:2])
