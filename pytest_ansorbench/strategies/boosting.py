"""Boosted trees, grown alike wherever a search or its training learns from some hundred rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from xgboost import Booster

# Two are hardly faster on so few rows, and ten times as slow where others want the cores; and with
# one, equal rows give an equal model.
_THREADS: Final = 1


def grown_trees(
    rows: NDArray[np.float32],
    labels: NDArray[Any],
    *,
    trees: int,
    seed: int,
    weight: NDArray[np.float64] | None = None,
    margin: NDArray[np.float64] | None = None,
    base: Booster | None = None,
    **parameters: Any,
) -> Booster:
    """Train XGBoost on rows of features; `parameters` are its own, e.g. `max_depth`.

    The trees learn what `margin`, shape (rows,), gets wrong, or what the trees of `base` do, which
    are kept.
    """
    import xgboost

    matrix = xgboost.DMatrix(
        rows, label=labels, weight=weight, base_margin=margin, nthread=_THREADS
    )
    return xgboost.train(
        {"nthread": _THREADS, "seed": seed, **parameters},
        matrix,
        num_boost_round=trees,
        xgb_model=base,
    )
