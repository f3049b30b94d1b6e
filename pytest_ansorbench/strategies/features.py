"""Per-store features of programs, extracted once and shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.feature_extractor import FeatureExtractor
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

PER_STORE: Final = 164
"""MetaSchedule's features of one store."""

POOLED: Final = 3 * PER_STORE + 1
"""Length of a row of what `pool` returns."""

_ARITHMETIC: Final = 16


def pool(features: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Bring programs with any number of stores to one length.

    A program's row is, feature by feature, the mean over its stores, then the largest store's,
    then that of the store with the most arithmetic, and at last the number of stores. The mean
    describes the whole program, the largest keeps one extreme store visible among many, and the
    third describes the computation itself, without what was fused around it. "Most arithmetic" is
    the largest sum of the first 16 features, which count float, integer and other operations by
    kind on a logarithmic scale (TVM, src/s_tir/meta_schedule/feature_extractor/
    per_store_feature.cc, `ArithOps`).

    Args:
        features: Per program an array of shape (stores, 164).

    Returns:
        Shape (programs, 493); zeros for a program without stores.
    """
    rows = np.zeros((len(features), POOLED), np.float32)
    for row, stores in zip(rows, features, strict=True):
        if len(stores) == 0:
            continue
        row[:PER_STORE] = stores.mean(axis=0)
        row[PER_STORE : 2 * PER_STORE] = stores.max(axis=0)
        row[2 * PER_STORE : -1] = stores[np.argmax(stores[:, :_ARITHMETIC].sum(axis=1))]
        row[-1] = len(stores)
    return rows


def remembering_extractor() -> FeatureExtractor:
    """MetaSchedule's per-store features, which remembers what it extracted last.

    Extracting a program's features takes as long as making it, a few milliseconds. The cost model
    extracts those of a whole generation; a rule policy that asks for the same candidates right
    after gets them again at no cost.

    Returns:
        An extractor for `XGBModel(extractor=...)`.
    """
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.feature_extractor import PerStoreFeature, PyFeatureExtractor

    @derived_object
    class RememberingExtractor(PyFeatureExtractor):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._stock = PerStoreFeature()
            self._asked: list[Any] = []
            self._features: Any = []

        def extract_from(self, context: Any, candidates: Any) -> Any:
            asked = list(candidates)
            if asked != self._asked:
                self._features = self._stock.extract_from(context, asked)
                self._asked = asked
            return self._features

    return RememberingExtractor()


def extractor_of(model: Any) -> FeatureExtractor:
    """The extractor of a cost model, or the stock one for a model that has none.

    Args:
        model: A cost model, e.g. `Setup.cost_model`, or None.
    """
    from tvm.s_tir.meta_schedule.feature_extractor import PerStoreFeature

    return getattr(model, "extractor", None) or PerStoreFeature()


def extract(
    extractor: FeatureExtractor, context: TuneContext, candidates: Sequence[MeasureCandidate]
) -> list[NDArray[np.float32]]:
    """Extract the per-store features of programs.

    Args:
        extractor: E.g. `extractor_of(setup.cost_model)`.
        context: The task, e.g. `Setup.context`.
        candidates: The programs as MetaSchedule's own candidates, e.g.
            `program.candidate().measure_candidate`.

    Returns:
        One array per program, shape (stores, 164).
    """
    return [stores.numpy() for stores in extractor.extract_from(context, candidates)]
