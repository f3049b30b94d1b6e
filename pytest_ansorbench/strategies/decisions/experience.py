"""What was measured of other operators and shapes before a run began."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.arrays import BadArchive, array_names, opened_archive
from pytest_ansorbench.storage.files import written_whole
from pytest_ansorbench.strategies.decisions.encoding import Trials
from pytest_ansorbench.strategies.model_file import BadModel
from pytest_ansorbench.strategies.program_model import SHIPPED as SHIPPED_MODEL

# The file that comes with the package; its card lies beside it.
SHIPPED: Final = SHIPPED_MODEL.with_suffix(".npz")

# Version of the features of decisions, and of the file.
FORMAT: Final = 1

_HEADER: Final = "header"
_FEATURES: Final = "features-"
_THROUGHPUT: Final = "throughput-"


@dataclass(frozen=True)
class Experience:
    """Measured programs of other workloads, for the draft's model to begin with.

    Sketches of an operator are of the same kinds in all shapes, and features of decisions are
    tile sizes, bytes that tiles touch, and the like: what was fast in one shape is a good guess
    for the next, on a machine like the one that it was measured on.

    Attributes:
        path: A file that `ansor-bench train-draft` wrote; the shipped one by default.
    """

    path: Path = SHIPPED

    def known(self) -> Mapping[str, Trials]:
        """Trials by kind of sketch."""
        try:
            return _read(self.path, self.path.stat().st_mtime_ns)
        except OSError as error:
            raise BadModel(f"bad experience {self.path}: {error.strerror}; {_EXPECTED}") from None


_EXPECTED: Final = "expected a file that ansor-bench train-draft wrote"


def save_experience(known: Mapping[str, Trials], path: Path) -> None:
    """Write trials by kind of sketch, whole or not at all.

    Features keep their precision: thresholds of trees are values of theirs, and half of it puts 24
    above 24.
    """
    arrays = {_HEADER: np.array(json.dumps({"format": FORMAT}))}
    for kind, trials in known.items():
        arrays[_FEATURES + kind] = trials.features
        arrays[_THROUGHPUT + kind] = trials.throughput.astype(np.float16)
    with written_whole(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def is_experience(path: Path) -> bool:
    """Whether a file is one of `save_experience`, of any format; False if it cannot be read."""
    return _HEADER in array_names(path)


def _trials(archive: Mapping[str, NDArray[Any]], kind: str) -> Trials:
    features, throughput = archive[_FEATURES + kind], archive[_THROUGHPUT + kind]
    if features.ndim != 2 or throughput.shape != features.shape[:1]:
        shapes = f"{features.shape} and {throughput.shape}"
        raise BadArchive(f"expected a row of features for each throughput of {kind}, got {shapes}")
    return Trials(features.astype(np.float32), throughput.astype(np.float64))


@lru_cache(maxsize=4)
def _read(path: Path, modified_ns: int) -> Mapping[str, Trials]:
    """A file as it was at some time; each task of each run asks for it."""
    try:
        with opened_archive(path) as archive:
            header = json.loads(str(archive[_HEADER]))
            kinds = [name.removeprefix(_FEATURES) for name in archive if name.startswith(_FEATURES)]
            known = {kind: _trials(archive, kind) for kind in kinds}
    except BadArchive as error:
        raise BadModel(f"bad experience {path}: {error}; {_EXPECTED}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadModel(f"bad experience {path}: expected format {FORMAT}; make it anew")
    return known
