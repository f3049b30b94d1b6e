"""Tables and figures from what `noise.py` has measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from curves import figure
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
MOST_OF_FORMER: Final = 1 / 3
MOST_SCATTER: Final = 0.007
CHEAP_S: Final = 2.0
LAGS_S: Final = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
CONFIDENCE: Final = 0.95

Piece = Mapping[str, Any]


def report(pieces: Sequence[Piece], busy_cores: Sequence[float]) -> str:
    """Everything as text: a paragraph and a table for each part that there is.

    Args:
        pieces: What has been measured.
        busy_cores: Cores that did other work, whenever that was looked at.
    """
    parts = (noise_text, truth_text, memory_text, waiting_text)
    texts = [text for part in parts if (text := part(pieces))]
    measured_s = math.fsum(piece["seconds"] for piece in pieces)
    end = (
        f"{len(pieces)} pieces, {measured_s / 60:.1f} minutes; before and after them at most "
        f"{max(busy_cores, default=math.nan):.2f} cores of other work"
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
        source = of(
            pieces, part="noise", operator=operator, way="equal" if name == "brief" else name
        )
        self.log_ratios = [
            beginning(piece) if name == "brief" else float(piece["log_ratios"][0])
            for piece in source
        ]
        seconds = [piece["seconds"] for piece in source]
        if name == "brief":
            seconds = [min(BRIEF_S, one) for one in seconds]
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
    """Scatter of the ratio of a kernel to itself, and the bars."""
    found = by_operator(pieces)
    if not found:
        return ""
    rows = []
    for operator, ways in found.items():
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
    table = tabulate(
        rows,
        headers=[
            "operator",
            "latency (ms)",
            "measured by",
            "times",
            "seconds",
            "rms",
            "standard deviation",
            "largest",
            "of the former",
        ],
        colalign=("left", "right", "left", *["right"] * 6),
        disable_numparse=True,
    )
    return (
        "The same kernel as two arms: logarithm of the ratio, which ought to be 0\n"
        f"{table}\n\n" + "\n".join(bars(found))
    )


def bars(found: Mapping[str, Mapping[str, Way]]) -> list[str]:
    """Whether slices are as good as they have to be, a line for each bar."""
    of_former = {op: ways["equal"].rms / ways["former"].rms for op, ways in found.items()}
    brief = {operator: ways["brief"].rms for operator, ways in found.items()}
    worst, largest = max(of_former, key=of_former.__getitem__), max(brief, key=brief.__getitem__)
    # Operators are in the order of their latencies.
    small, ways = next(iter(found.items()))
    cheap, former = ways["cheap"], ways["former"]
    as_good = cheap.rms <= former.rms and cheap.seconds <= CHEAP_S
    return [
        bar(
            f"in the seconds of the former method at most {MOST_OF_FORMER:.2f} of its scatter, on "
            f"every operator: at most {of_former[worst]:.2f} ({worst})",
            of_former[worst] <= MOST_OF_FORMER,
        ),
        bar(
            f"at most {percent(MOST_SCATTER, 1)} at 3 s an arm: at most {percent(brief[largest])} "
            f"({largest})",
            brief[largest] <= MOST_SCATTER,
        ),
        bar(
            f"two arms of a small operator in at most {CHEAP_S:g} s, at the former certainty or "
            f"better: {cheap.seconds:.1f} s, {percent(cheap.rms)} against {percent(former.rms)} in "
            f"{former.seconds:.1f} s ({small})",
            as_good,
        ),
    ]


def bar(told: str, kept: bool) -> str:
    """A bar and whether it is kept."""
    return f"bar {'kept' if kept else 'MISSED'}: {told}"


def truth_text(pieces: Sequence[Piece]) -> str:
    """Kernels of known work, and line-ups that ought not to matter."""
    texts = [text for part in (work_text, lineups_text) if (text := part(pieces))]
    return "\n\n".join(texts)


def work_text(pieces: Sequence[Piece]) -> str:
    """Estimates of known differences."""
    measured = of(pieces, part="truth", lineup="work")
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
    table = tabulate(
        rows,
        headers=[
            "more work",
            "estimate",
            "off by (log)",
            "standard deviation",
            "half interval",
            "truth inside",
        ],
        stralign="right",
        disable_numparse=True,
    )
    seconds = median(piece["seconds"] for piece in measured)
    return (
        f"Kernels whose work is known, {len(OTHER_PERCENT) + 1} arms in {seconds:.1f} s at the "
        f"default effort\n{table}"
    )


def lineups_text(pieces: Sequence[Piece]) -> str:
    """Whether place, length of a call or threads favour an arm."""
    rows = []
    for told, values in favours(pieces).items():
        if len(values) >= 2:
            rows.append(
                [told, len(values), interval(values), "no" if holds_zero(values) else "yes"]
            )
    if not rows:
        return ""
    table = tabulate(
        rows,
        headers=["what ought to be 0", "times", "mean, 95% interval", "differs"],
        colalign=("left", "right", "right", "left"),
        disable_numparse=True,
    )
    return f"Is an arm favoured? Logarithms of ratios\n{table}"


def favours(pieces: Sequence[Piece]) -> dict[str, list[float]]:
    """What ought to be 0 in any company, from each fresh measurement."""
    lineups = {
        lineup: {piece["number"]: piece for piece in of(pieces, part="truth", lineup=lineup)}
        for lineup in (
            "forward",
            "backward",
            "short",
            "short beside long",
            "one thread",
            "all threads",
            "both",
        )
    }

    def second(lineup: str) -> list[float]:
        return [piece["log_ratios"][0] for piece in lineups[lineup].values()]

    def together(lineup: str, other: str) -> Iterable[tuple[Piece, Piece]]:
        numbers = sorted(lineups[lineup].keys() & lineups[other].keys())
        return ((lineups[lineup][number], lineups[other][number]) for number in numbers)

    return {
        "place: first against second, orders averaged": [
            (forward["log_ratios"][0] + backward["log_ratios"][0]) / 2
            for forward, backward in together("forward", "backward")
        ],
        "length: a short kernel to itself": second("short"),
        "length: the same beside a long one": second("short beside long"),
        "length: its latency beside a long one to that without": [
            _level_log(beside, (0, 1)) - _level_log(without, (0, 1))
            for beside, without in together("short beside long", "short")
        ],
        "threads: a kernel of one thread to itself": second("one thread"),
        "threads: a kernel of all threads to itself": second("all threads"),
        "threads: one thread to itself, beside all threads": second("both"),
        "threads: all threads to itself, beside one thread": [
            piece["log_ratios"][2] - piece["log_ratios"][1] for piece in lineups["both"].values()
        ],
        "threads: latency of one thread beside all to that among its kind": [
            _level_log(beside, (0, 1)) - _level_log(own, (0, 1))
            for beside, own in together("both", "one thread")
        ],
        "threads: latency of all threads beside one to that among its kind": [
            _level_log(beside, (2, 3)) - _level_log(own, (0, 1))
            for beside, own in together("both", "all threads")
        ],
    }


def _level_log(piece: Piece, arms: Sequence[int]) -> float:
    return fmean(math.log(piece["levels_s"][arm]) for arm in arms)


def half_interval(values: Sequence[float]) -> float:
    """Half of Student's interval of the mean."""
    return t_quantile(CONFIDENCE, len(values) - 1) * stdev(values) / math.sqrt(len(values))


def holds_zero(values: Sequence[float]) -> bool:
    """Whether the mean may be 0."""
    return abs(fmean(values)) <= half_interval(values)


def interval(values: Sequence[float]) -> str:
    """A mean and its interval."""
    return f"{100 * fmean(values):+.2f}% +- {percent(half_interval(values))}"


def memory_text(pieces: Sequence[Piece]) -> str:
    """How far one kernel scatters, and how soon that is forgotten."""
    traces = of(pieces, part="memory")
    if not traces:
        return ""
    trace = traces[0]
    logs, period_s = np.log(trace["latencies_s"]), float(trace["period_s"])
    correlations = autocorrelation(logs, round(max(LAGS_S) / period_s))
    low, high = np.quantile(logs, (0.25, 0.75))
    neighbours = np.diff(logs)
    near, far = np.quantile(neighbours, (0.25, 0.75))
    table = tabulate(
        [
            [f"{1e3 * lag_s:g}", f"{correlations[max(1, round(lag_s / period_s))]:.2f}"]
            for lag_s in LAGS_S
        ],
        headers=["lag (ms)", "autocorrelation"],
        disable_numparse=True,
        stralign="right",
    )
    return (
        f"One kernel of {1e3 * float(np.exp(np.median(logs))):.3f} ms in {len(logs)} slices of "
        f"{1e3 * period_s:.1f} ms\n"
        f"scatter: standard deviation {percent(float(logs.std()), 1)}, by the quartiles "
        f"{percent((high - low) / 1.349, 1)}\n"
        f"of the ratio of two neighbours: {percent(float(neighbours.std()), 1)}, by the quartiles "
        f"{percent((far - near) / 1.349, 1)}\n{table}"
    )


def autocorrelation(values: np.ndarray[Any, np.dtype[Any]], lags: int) -> list[float]:
    """Correlation of a series with itself, so many places later; at most half of its length.

    Args:
        values: The series.
        lags: The longest lag.

    Returns:
        One per lag, from 0.
    """
    centred = values - values.mean()
    lags = min(lags, len(values) // 2)
    variance = float(centred @ centred)
    sums = [float(centred[: len(centred) - lag] @ centred[lag:]) for lag in range(lags + 1)]
    return [one / variance if variance else 0.0 for one in sums]


def waiting_text(pieces: Sequence[Piece]) -> str:
    """What busy-waiting does to a ratio, and what threads that sleep do to a small kernel."""
    texts = []
    logs = [pair for piece in of(pieces, part="waiting", of="blocks") for pair in block_logs(piece)]
    if len(logs) >= 2:
        slices, rested = np.array(logs).transpose(1, 0, 2)
        levels = np.exp(np.median([slices, rested], axis=1)) * 1e3
        rows = [
            [mode, f"{small:.4f}", f"{large:.4f}", f"{small / large:.4f}"]
            for mode, (small, large) in zip(("slices", "rested"), levels, strict=True)
        ]
        table = tabulate(
            rows,
            headers=["measured", "small (ms)", "large (ms)", "ratio"],
            disable_numparse=True,
            stralign="right",
        )
        off = slices - rested
        texts.append(
            f"TVM's threads busy-wait between slices: {len(logs)} blocks of each, in turn\n"
            f"{table}\n"
            f"slices to rested: small {interval(off[:, 0])}, large {interval(off[:, 1])}, ratio "
            f"{interval(off[:, 0] - off[:, 1])}"
        )
    levels_of = {
        of_: [piece["levels_s"] for piece in of(pieces, part="waiting", of=of_)]
        for of_ in ("spinning", "sleeping")
    }
    if all(levels_of.values()):
        spinning, sleeping = (np.median(levels, axis=0) for levels in levels_of.values())
        small, large = sleeping / spinning
        texts.append(
            "Threads that sleep at once, to threads that busy-wait: small kernel "
            f"{small:.2f} times as slow ({1e3 * sleeping[0]:.4f} and {1e3 * spinning[0]:.4f} ms), "
            f"large {large:.2f} ({1e3 * sleeping[1]:.4f} and {1e3 * spinning[1]:.4f} ms)"
        )
    return "\n\n".join(texts)


def block_logs(piece: Piece) -> list[tuple[list[float], list[float]]]:
    """Of each block, log latency of the small and the large kernel: in slices, and rested."""
    return [
        ([median(arm) for arm in slices], [median(arm) for arm in rested])
        for slices, rested in zip(piece["slices"], piece["rested"], strict=True)
    ]


def draw_figures(pieces: Sequence[Piece], folder: Path) -> list[Path]:
    """Write the figures that there are measurements for; their paths."""
    paths = []
    if traces := of(pieces, part="memory"):
        paths.append(folder / "noise-memory.svg")
        with figure(paths[-1], 1, 2, figsize=(10, 3.8), dpi=200) as (_, panels):
            draw_trace(panels[0], traces[0])
            draw_memory(panels[1], traces[0])
    if found := by_operator(pieces):
        paths.append(folder / "noise-method.svg")
        with figure(paths[-1], 1, 1, figsize=(9, 4.5)) as (fig, axes):
            draw_method(axes, found, pieces)
            fig.legend(loc="outside lower center", ncols=3)
    return paths


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
    axes.axvline(
        100 * MOST_SCATTER,
        color="gray",
        linestyle="--",
        linewidth=1,
        label=f"bar at 3 s an arm: {percent(MOST_SCATTER, 1)}",
    )
    axes.set_xscale("log")
    all_of_them = [100 * way.rms for ways in found.values() for way in ways.values()]
    low, high = 0.8 * min(all_of_them), 1.25 * max(all_of_them)
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    axes.set_xlim(low, high)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
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
