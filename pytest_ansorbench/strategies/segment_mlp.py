"""MetaSchedule's multi-layer perceptron as a cost model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.strategies.errors import require_at_least, require_positive
from pytest_ansorbench.strategies.features import extract
from pytest_ansorbench.strategies.neural import repeatable, torch_for
from pytest_ansorbench.strategies.program_model import latency_s, task_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.s_tir.meta_schedule.cost_model import CostModel


@dataclass(frozen=True)
class SegmentMLP:
    """MetaSchedule's network over per-store features, `SegmentSumMLP`, and its loss, LambdaRank.

    A layer sees each store, and the sum over the stores of a program goes through others. TVM's own
    `MLPModel` cannot be used: its training fails where there are fewer than five tasks, of which it
    holds out a fifth, and with today's PyTorch everywhere; so does a prediction of one program.
    Here the network is trained anew on all trials whenever a batch has been measured. Numbers are
    TVM's.

    Attributes:
        epochs: Passes through all trials.
        batch: Trials of a step.
        rate: Learning rate; it falls by a fifth each tenth of the epochs.
        decay: Of weights.
        clip: Norm of a gradient at most.
    """

    epochs: int = 50
    batch: int = 128
    rate: float = 7e-4
    decay: float = 1e-6
    clip: float = 0.5

    def __post_init__(self) -> None:
        require_at_least(self, 1, "epochs", "batch")
        require_at_least(self, 0, "decay")
        require_positive(self, "rate", "clip")

    def start(self) -> CostModel:
        """An untrained model, which scores all programs alike.

        Raises:
            StrategyError: PyTorch is not installed.
        """
        torch = torch_for(self)
        from tvm.ir.utils import derived_object
        from tvm.s_tir.meta_schedule.cost_model import PyCostModel
        from tvm.s_tir.meta_schedule.feature_extractor import PerStoreFeature

        trials = _Trials(torch, self)

        @derived_object
        class Segment(PyCostModel):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.extractor = PerStoreFeature(extract_workload=True)

            def update(self, context: Any, candidates: Any, results: Any) -> None:
                stores = extract(self.extractor, context, list(candidates))
                trials.learn(task_of(context), stores, [latency_s(one) for one in results])

            def predict(self, context: Any, candidates: Any) -> NDArray[np.float64]:
                return trials.scores(extract(self.extractor, context, list(candidates)))

        return Segment()


class _Trials:
    """What has been measured, by task, and the network that learnt it."""

    def __init__(self, torch: Any, policy: SegmentMLP) -> None:
        self._torch = torch
        self._policy = policy
        self._stores: dict[int, list[NDArray[np.float32]]] = {}
        self._latencies_s: dict[int, list[float]] = {}
        self._network: Any = None
        self._scale: Any = None

    def learn(
        self, task: int, stores: Sequence[NDArray[np.float32]], latencies_s: Sequence[float]
    ) -> None:
        """Train anew on all trials, if one of them is valid."""
        self._stores.setdefault(task, []).extend(stores)
        self._latencies_s.setdefault(task, []).extend(latencies_s)
        shares = [share for one in self._latencies_s.values() for share in _shares(one)]
        if any(shares):
            with repeatable(self._torch, len(shares)):
                self._train([one for group in self._stores.values() for one in group], shares)

    def scores(self, stores: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
        """Scores above 0, shape (programs,): the logarithm of one is what the network says."""
        if self._network is None:
            return np.ones(len(stores))
        with self._torch.no_grad():
            told = self._network_scores(stores).numpy().astype(np.float64)
        scores: NDArray[np.float64] = np.exp(np.clip(told, -50.0, 50.0))
        return scores

    def _train(self, stores: Sequence[NDArray[np.float32]], shares: Sequence[float]) -> None:
        from tvm.s_tir.meta_schedule.cost_model.mlp_model import SegmentSumMLP, lambda_rank_loss

        torch, policy = self._torch, self._policy
        largest = np.abs(np.concatenate(stores)).max(axis=0)
        self._scale = np.where(largest > 0.0, largest, 1.0).astype(np.float32)
        self._network = SegmentSumMLP(input_dim=len(self._scale))
        parameters = [*self._network.parameters()]
        adam = torch.optim.Adam(parameters, lr=policy.rate, weight_decay=policy.decay)
        falling = torch.optim.lr_scheduler.StepLR(adam, max(1, policy.epochs // 10), gamma=0.8)
        truth = torch.tensor(shares, dtype=torch.float32)
        for _ in range(policy.epochs):
            for places in torch.randperm(len(stores)).split(policy.batch):
                adam.zero_grad()
                told = self._network_scores([stores[at] for at in places.tolist()])
                lambda_rank_loss(told, truth[places]).backward()
                torch.nn.utils.clip_grad_norm_(parameters, policy.clip)
                adam.step()
            falling.step()

    def _network_scores(self, stores: Sequence[NDArray[np.float32]]) -> Any:
        """A tensor of shape (programs,)."""
        torch = self._torch
        sizes = torch.tensor([len(one) for one in stores])
        features = torch.tensor(np.concatenate(stores) / self._scale, dtype=torch.float32)
        # It drops an axis of length 1.
        return self._network(sizes, features).reshape(len(stores))


def _shares(latencies_s: Sequence[float]) -> NDArray[np.float64]:
    """Throughput over the best of a task, 0 for a failed trial."""
    best_s = min(latencies_s)
    if not np.isfinite(best_s):
        return np.zeros(len(latencies_s))
    return best_s / np.array(latencies_s)
