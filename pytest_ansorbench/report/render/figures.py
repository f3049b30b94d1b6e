"""Charts as figures, drawn by matplotlib."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.report.cells import Number
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import Axis, Bars, Chart, Drawing, Forest, Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PAD_IN: Final = 0.06
_LEAST_WIDTH: Final = 0.5
"""Share of a figure's width that words leave to what is drawn; else it gets wider."""
_NEAR: Final = 1.5
"""Levels above this multiple of the highest point of a curve are not drawn."""
_MOST_INSIDE: Final = 8
"""A legend of more curves stands beside them."""
_DASHES: Final = ("-", "--", "-.", ":")
"""Curves differ by these as well, for readers who see no colours, and in print."""
_HATCHES: Final = ("", "///", "\\\\\\", "xxx", "---", "|||", "+++", "//")
"""Lines only: dots and circles take a hundred kilobytes of SVG each."""


@dataclass(frozen=True, slots=True)
class Look:
    """How figures look."""

    ink: str  # colour of words and axes
    colours: tuple[str, ...]  # of curves and bars, to be told apart by the colour-blind
    width_in: float
    font: float = 9.0  # size of words in points

    @property
    def style(self) -> dict[Any, Any]:
        """Settings of matplotlib."""
        return {
            "svg.fonttype": "none",
            "svg.hashsalt": "ansorbench",
            "font.family": "sans-serif",
            "font.size": self.font,
            "text.parse_math": False,
            "text.color": self.ink,
            "axes.edgecolor": self.ink,
            "axes.labelcolor": self.ink,
            "xtick.color": self.ink,
            "ytick.color": self.ink,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "hatch.linewidth": 0.5,
        }

    def colour(self, place: int) -> str:
        return self.colours[place % len(self.colours)]


PRINT: Final = Look(
    "black",
    # Okabe and Ito, https://jfly.uni-koeln.de/color/
    ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    width_in=3.5,
    font=8.0,
)
"""For papers: a column's width."""


def draw(chart: Drawing, look: Look) -> Figure:
    """Draw a chart by matplotlib, which is an extra."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(look.style):
        figure = Figure(dpi=100)
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        match chart:
            case Chart():
                height_in = 3.4
                _draw_curves(axes, chart, look)
            case Forest(_, rows):
                height_in = 0.9 + 0.24 * len(rows)
                _draw_forest(axes, chart, look)
            case Bars(_, _, stacks):
                height_in = 1.2 + 0.3 * len(stacks)
                _draw_bars(axes, chart, look)
        figure.set_size_inches(look.width_in, height_in)
        _fit(figure, axes)
        return figure


def _fit(figure: Figure, axes: Axes) -> None:
    """Make room for the words around the axes in one pass; matplotlib's engines take three."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        words = axes.get_tightbbox(renderer)
    if words is None:
        return
    inner, (width, height) = axes.bbox, figure.bbox.size
    pad = _PAD_IN * figure.dpi
    left, right = inner.x0 - words.x0 + pad, words.x1 - inner.x1 + pad
    below, above = inner.y0 - words.y0 + pad, words.y1 - inner.y1 + pad
    width = max(width, left + right + _LEAST_WIDTH * width)
    figure.set_size_inches(width / figure.dpi, height / figure.dpi)
    axes.set_position(
        (
            left / width,
            below / height,
            1.0 - (left + right) / width,
            max(1.0 - (below + above) / height, 0.1),
        )
    )


def save(figure: Figure, file: Any, look: Look, kind: str) -> None:
    """Write a figure to a path or an open file as `svg`, `png` or `pdf`; equal ones alike."""
    from matplotlib import rc_context

    undated = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
    with rc_context(look.style), warnings.catch_warnings():
        # Of a script that the font does not have; a browser chooses its own.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(file, format=kind, dpi=200, metadata=undated.get(kind))


def _label(axis: Axis) -> str:
    return _words(f"{axis.heading} ({axis.unit})" if axis.unit else axis.heading)


def _words(text: str) -> str:
    """Text that matplotlib takes as it is: a label with an underscore in front it leaves out."""
    text = printable(text)
    return f" {text}" if text.startswith("_") else text


def _draw_curves(axes: Axes, chart: Chart, look: Look) -> None:
    places = {one.label: place for place, one in enumerate(chart.series)}
    for label, place in places.items():
        runs = [run for run in chart.runs if run.label == label]
        # As one line with gaps: a page of a thousand runs would be thrice as large.
        x = [value for run in runs for value in (*run.x, math.nan)]
        y = [value for run in runs for value in (*run.y, math.nan)]
        axes.step(x, y, where="post", color=look.colour(place), linewidth=0.6, alpha=0.35)
    for place, one in enumerate(chart.series):
        if one.low:
            axes.fill_between(
                one.x, one.low, one.high, step="post", color=look.colour(place), alpha=0.2, lw=0.0
            )
        axes.step(
            one.x,
            one.y,
            where="post",
            label=_words(one.label),
            color=look.colour(place),
            # Shifted each time that colours begin again.
            linestyle=_DASHES[(place + place // len(look.colours)) % len(_DASHES)],
            linewidth=1.8,
            marker="o" if len(one.x) == 1 else None,  # a step of one point is nothing
        )
    _draw_levels(axes, chart, look)
    axes.set_xlabel(_label(chart.x))
    axes.set_ylabel(_label(chart.y))
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(left=0.0)
    if len(chart.series) > _MOST_INSIDE:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    else:
        axes.legend(loc="upper right" if _falls(chart) else "lower right")


def _falls(chart: Chart) -> bool:
    return any(one.y[0] > one.y[-1] for one in chart.series if one.y)


def _draw_levels(axes: Axes, chart: Chart, look: Look) -> None:
    """Lines across the curves; what is far above them is told in words, not to flatten them."""
    highest = max((max(one.y, default=0.0) for one in (*chart.series, *chart.runs)), default=0.0)
    above = 0
    for level in chart.levels:
        is_near = level.y <= _NEAR * highest
        if is_near:
            axes.axhline(level.y, color=look.ink, linewidth=0.8, linestyle=(0, (1, 2)))
        far = "" if is_near else f": {Number.of(level.y, '.3g')}, above"
        axes.annotate(
            f"{_words(level.label)}{far}",
            (0.0, level.y if is_near else 1.0),
            xycoords=("axes fraction", "data" if is_near else "axes fraction"),
            xytext=(2.0, 1.0 if is_near else -above * 1.2 * look.font),
            textcoords="offset points",
            va="bottom" if is_near else "top",
            fontsize="small",
        )
        above += not is_near


def _draw_forest(axes: Axes, forest: Forest, look: Look) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    low, high = _span(forest)
    for place, row in enumerate(forest.rows):
        _draw_interval(axes, row, -place, (low, high), look)
    axes.axvline(1.0, color=look.ink, linewidth=0.8)
    if forest.limit is not None:
        axes.axvline(forest.limit, color=look.ink, linewidth=0.8, linestyle="--")
        at = min(max(forest.limit, low), high)
        axes.annotate(
            f"limit {forest.limit:g}{'' if at == forest.limit else ', beyond'}",
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center" if at == forest.limit else "left" if at == low else "right",
            va="bottom",
        )
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_yticks([-place for place in range(len(forest.rows))])
    axes.set_yticklabels([_words(row.label) for row in forest.rows])
    axes.set_ylim(0.6 - len(forest.rows), 0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    ticks = [0.01, 0.1, 1, 10, 100]
    if high < 100 * low:  # labels have no room on a longer axis
        ticks += [0.02, 0.05, 0.2, 0.5, 2, 5, 20, 50]
    if high < 10 * low:
        ticks += [0.8, 1.25]
    axes.set_xticks([tick for tick in sorted(ticks) if low <= tick <= high])
    # Labels of rows leave room on the left.
    axes.set_xlabel(_label(forest.ratio), loc="right")


def _span(forest: Forest) -> tuple[float, float]:
    """The ends of the axis: all that is finite, and 1."""
    ends = [1.0 if forest.limit is None else forest.limit, 1.0]
    for row in forest.rows:
        one = row.estimate
        ends += [end for end in (one.value, one.low, one.high) if 0.0 < end < math.inf]
    return max(0.01, min(ends) / 1.15), min(100.0, max(ends) * 1.15)


def _draw_interval(
    axes: Axes, row: Interval, y: float, span: tuple[float, float], look: Look
) -> None:
    low, high = span
    one = row.estimate
    value = min(max(one.value, low), high)
    beyond = "at-most" if one.value < low else "at-least" if one.value > high else one.bound
    summary = row.role == "summary"
    marker: dict[str, Any] = {"value": "D" if summary else "s", "at-least": ">", "at-most": "<"}
    colour = look.colour(1 if summary else 0)
    axes.plot(
        [max(one.low, low), min(one.high, high)],
        [y, y],
        color=colour,
        linewidth=2.4 if summary else 1.2,
        # Without an end to it, an interval says nothing; it is drawn as such.
        linestyle=":" if one.low == 0.0 and math.isinf(one.high) else "-",
    )
    axes.plot(
        [value],
        [y],
        marker=marker[beyond],
        color=colour,
        markersize=7 if summary else 5,
    )


def _draw_bars(axes: Axes, bars: Bars, look: Look) -> None:
    places = [-place for place in range(len(bars.stacks))]
    starts = [0.0] * len(bars.stacks)
    for number, part in enumerate(bars.parts):
        lengths = [stack.lengths[number] for stack in bars.stacks]
        axes.barh(
            places,
            lengths,
            left=starts,
            label=_words(part),
            facecolor=look.colour(number),
            hatch=_HATCHES[number % len(_HATCHES)],
            edgecolor=look.ink,
            linewidth=0.4,
        )
        starts = [start + length for start, length in zip(starts, lengths, strict=True)]
    axes.set_yticks(places)
    axes.set_yticklabels([_words(stack.label) for stack in bars.stacks])
    axes.set_xlabel(_label(bars.length))
    columns = min(len(bars.parts), 6)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        columnspacing=1.0,
        handlelength=1.4,
    )
