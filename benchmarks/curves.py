"""Figures of how searches went: best throughput so far, over trials and over search time.

    python benchmarks/curves.py RESULT.json ...

Writes `RESULT-CASE.svg` beside each file, one figure a case. A network's throughput is estimated
from its tasks' best so far, and 0 until each has a valid trial.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.report import Section, curves
from pytest_ansorbench.storage import read_result, result_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pytest_ansorbench.report.sections import Axis, Chart


def main() -> None:
    """Draw every case of some result files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="RESULT.json")
    for file in parser.parse_args().files:
        for case in read_result(file).cases:
            figure = file.with_name(f"{result_name(file)}-{case.case}.svg")
            draw(curves(case), case.case, figure)
            print(figure)


def draw(section: Section, title: str, path: Path) -> None:
    """Write the charts of a section side by side into an SVG file."""
    charts = section.blocks
    with figure(path, 1, len(charts), figsize=(10, 3.8), sharey=True) as (fig, panels):
        for axes, chart in zip(panels, charts, strict=True):
            draw_chart(axes, chart)
        panels[0].set_ylabel(axis_text(charts[0].y))
        fig.suptitle(title)
        panels[-1].legend(loc="lower right")


def draw_chart(axes: Axes, chart: Chart) -> None:
    """Draw the curves of one chart."""
    for series in chart.series:
        axes.step(series.x, series.y, label=series.label, where="post")
    axes.set_xlabel(axis_text(chart.x))


def axis_text(axis: Axis) -> str:
    """Heading and unit of an axis."""
    return f"{axis.heading} ({axis.unit})" if axis.unit else axis.heading


@contextmanager
def figure(path: Path, rows: int, columns: int, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure with its axes, which is written without a date when the block is left."""
    # Not with this module, whose other functions need none of it.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(rows, columns, layout="constrained", **options)
    try:
        yield fig, axes
        fig.savefig(path, metadata={"Date": None})
    finally:
        pyplot.close(fig)


if __name__ == "__main__":
    main()
