"""A cost model that knows programs of any operator before a run, and goes on learning in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.strategies.boosting import grown_trees
from pytest_ansorbench.strategies.errors import require_at_least, require_share
from pytest_ansorbench.strategies.features import POOLED, extract, pool, remembering_extractor
from pytest_ansorbench.strategies.model_file import BadModel, ModelKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from xgboost import Booster

# The model that comes with the package; its card lies beside it.
SHIPPED: Final = Path(__file__).parent.parent / "models" / "draft.ubj"

# Answers end here: programs 64 times slower than the best are all alike, as failed ones are.
WORST: Final = -6.0

# Programs that wait to be read, some 40 kB each: more than a search of an operator measures.
_MOST_UNREAD: Final = 2048

_KIND: Final = ModelKind("program model", "ansor-bench train-draft", format=1, features=POOLED)
_SCALE: Final = "log2 of throughput over the task's best"


class ProgramModel:
    """Trained trees.

    Their features are MetaSchedule's of stores: arithmetic by kind, loops that are vectorized,
    unrolled or parallel, and for each buffer the bytes, cache lines and reuse of its accesses.
    They mean the same for all operators and shapes, so what was learnt on some holds on others.

    Attributes:
        booster: The trees themselves, e.g. to train more of them.
    """

    def __init__(self, booster: Booster) -> None:
        self.booster = booster

    def predict(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Logarithm (base 2) of each program's throughput over the best of its task.

        Args:
            features: What `features.pool` returns, shape (programs, 493).

        Returns:
            Shape (programs,); mostly from `WORST` to 0.
        """
        return self.booster.inplace_predict(features).astype(np.float64)

    def save(self, path: Path) -> None:
        """Write the model in XGBoost's own format, as the suffix says: `.ubj` or `.json`."""
        _KIND.save(self.booster, path, scale=_SCALE)


def load_program_model(path: Path = SHIPPED) -> ProgramModel:
    """Read a model.

    Args:
        path: What `ProgramModel.save` wrote.

    Raises:
        BadModel: There is no such file, it is no program model, or it expects other features
            than this version extracts.
    """
    booster, header = _KIND.load(path)
    if header.get("scale") != _SCALE:
        raise BadModel(f"bad program model {path}: expected one that predicts the {_SCALE}")
    return ProgramModel(booster)


def log2_throughput(latencies_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scale that the model predicts on.

    Args:
        latencies_s: Of programs of one task, shape (programs,); infinity for a failed one.

    Returns:
        log2 of the best latency over each, not below `WORST`; all `WORST` if none is finite.
    """
    latencies_s = np.asarray(latencies_s, dtype=np.float64)
    best_s = latencies_s.min(initial=np.inf)
    if not np.isfinite(best_s):
        return np.full(len(latencies_s), WORST)
    relative: NDArray[np.float64] = np.maximum(np.log2(best_s) - np.log2(latencies_s), WORST)
    return relative


@dataclass(frozen=True)
class PretrainedModel:
    """A program model as prior, corrected by what this run measures.

    The trees of the prior stay as they are. Others learn what the prior gets wrong on this run's
    tasks, on this machine: boosting that goes on from the prior's answers (XGBoost's
    `base_margin`). All tasks of a network share them. The more of a task has been measured, the
    less the prior counts for it: the prior ranks all programs well, but not the best among
    themselves. Its answers are multiplied by

        fading_trials / (fading_trials + trials of the task)

    Attributes:
        path: A model file; the shipped one by default.
        fading_trials: Trials of a task that halve what the prior counts for it.
        least: Trials before the prior is corrected.
        trees: Trees that correct it, grown anew after each batch.
        depth: Of each.
        rate: Learning rate.
        columns: Share of the features that a tree sees.
    """

    path: Path = SHIPPED
    fading_trials: int = 32
    least: int = 8
    trees: int = 100
    depth: int = 4
    rate: float = 0.1
    columns: float = 0.3

    def __post_init__(self) -> None:
        require_at_least(self, 1, "fading_trials", "least", "trees", "depth")
        require_share(self, "rate", "columns")

    def start(self) -> CostModel:
        """A model for one run.

        Raises:
            BadModel: The file cannot be read.
        """
        from tvm.ir.utils import derived_object
        from tvm.s_tir.meta_schedule.cost_model import PyCostModel

        corrected = _Corrected(self, load_program_model(self.path))

        @derived_object
        class Pretrained(PyCostModel):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.extractor = remembering_extractor()
                self.unread: list[tuple[Any, list[Any], list[float]]] = []

            def update(self, context: Any, candidates: Any, results: Any) -> None:
                # Features take longer than replays: they are extracted for the next prediction, or
                # before too many programs are held.
                self.unread.append((context, list(candidates), [latency_s(r) for r in results]))
                if sum(len(programs) for _, programs, _ in self.unread) >= _MOST_UNREAD:
                    self.read()

            def read(self) -> None:
                for measured, programs, latencies_s in self.unread:
                    rows = pool(extract(self.extractor, measured, programs))
                    corrected.note(task_of(measured), rows, latencies_s)
                self.unread.clear()

            def predict(self, context: Any, candidates: Any) -> NDArray[np.float64]:
                self.read()
                if str(context.target.kind.name) != "llvm":
                    corrected.prior = None
                corrected.learn()
                rows = pool(extract(self.extractor, context, list(candidates)))
                return corrected.throughput(task_of(context), rows)

        return Pretrained()


@dataclass
class _Corrected:
    """A prior, what this run has measured, and the trees that this has grown."""

    policy: PretrainedModel
    prior: ProgramModel | None  # None on other targets than CPUs, of which it knows nothing
    rows: dict[int, list[NDArray[np.float32]]] = field(default_factory=dict)
    latencies_s: dict[int, list[float]] = field(default_factory=dict)
    booster: Any = None
    unlearnt: int = 0  # programs since the trees were grown

    def throughput(self, task: int, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Throughput over the task's best, as predicted: positive, about 1 for the best."""
        expected = self._prior(task, rows)
        if self.booster is not None:
            margin = expected.astype(np.float32)
            expected = self.booster.inplace_predict(rows, base_margin=margin).astype(np.float64)
        return np.exp2(expected)

    def note(self, task: int, measured: NDArray[np.float32], latencies_s: Sequence[float]) -> None:
        self.rows.setdefault(task, []).append(measured)
        self.latencies_s.setdefault(task, []).extend(latencies_s)
        self.unlearnt += len(latencies_s)

    def learn(self) -> None:
        """Grow the trees anew, if there is anything new."""
        policy = self.policy
        if not self.unlearnt:
            return
        self.unlearnt = 0
        rows = {task: np.concatenate(parts) for task, parts in self.rows.items()}
        trials = sum(map(len, rows.values()))
        if trials < policy.least:
            return
        labels = [log2_throughput(np.array(latencies)) for latencies in self.latencies_s.values()]
        self.booster = grown_trees(
            np.concatenate(list(rows.values())),
            np.concatenate(labels),
            margin=np.concatenate([self._prior(task, rows[task]) for task in rows]),
            trees=policy.trees,
            seed=trials,
            max_depth=policy.depth,
            eta=policy.rate,
            subsample=0.9,
            colsample_bytree=policy.columns,
            base_score=0.0,
        )

    def _prior(self, task: int, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """The prior's answers for programs of a task, as far as they still count."""
        if self.prior is None:
            return np.zeros(len(rows))
        fading = self.policy.fading_trials
        return self.prior.predict(rows) * fading / (fading + len(self.latencies_s.get(task, ())))


def task_of(context: TuneContext) -> int:
    """What tells a task from others: the structural hash of its program."""
    from tvm_ffi import structural_hash

    return int(structural_hash(context.mod))


def latency_s(result: Any) -> float:
    """The median of a measurement, in seconds; infinity for a failed one."""
    seconds = [float(one) for one in result.run_secs or ()]
    return float(np.median(seconds)) if seconds else np.inf
