"""Cost-model policies: what scores a candidate before it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.strategies.features import remembering_extractor

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.cost_model import CostModel


@dataclass(frozen=True)
class XGBoostModel:
    """MetaSchedule's `XGBModel` over per-store features, retrained as trials come in.

    Attributes:
        warmup_samples: Trials before the model is used; until then it predicts at random,
            from NumPy's global generator.
    """

    warmup_samples: int = 100

    def start(self) -> CostModel:
        """An untrained model."""
        from tvm.s_tir.meta_schedule.cost_model import XGBModel

        return XGBModel(num_warmup_samples=self.warmup_samples, extractor=remembering_extractor())


@dataclass(frozen=True)
class NoModel:
    """No cost model: nothing is predicted and nothing is learnt."""

    def start(self) -> None:
        """No model."""
        return None


def is_blind(model: Any) -> bool:
    """Whether a cost model still answers at random.

    MetaSchedule's `XGBModel` does until it has seen `num_warmup_samples` trials. Any other model
    is taken at its word.
    """
    warmup_samples = getattr(model, "num_warmup_samples", 0)
    return bool(getattr(model, "data_size", warmup_samples) < warmup_samples)
