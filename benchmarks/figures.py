"""Figures that are written as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def figure(path: Path, rows: int, columns: int, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure with its axes, which is written without a date when the block is left."""
    # Not with this module: who imports it may draw nothing.
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(rows, columns, layout="constrained", **options)
    try:
        yield fig, axes
        fig.savefig(path, metadata={"Date": None})
    finally:
        pyplot.close(fig)
