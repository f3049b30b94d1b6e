"""Cost-model policies: what scores a candidate before it is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ansorbench.strategies.errors import StrategyError
from pytest_ansorbench.strategies.features import remembering_extractor

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.cost_model import CostModel

    from pytest_ansorbench.strategies.proposer import Setup


class CostModelPolicy(Protocol):
    """Parameters of a cost model."""

    def start(self) -> CostModel | None:
        """An untrained model for one run, whose tasks share it.

        Returns:
            One of MetaSchedule's cost models, e.g. a `derived_object` of a `PyCostModel`, or None
            for a search without one. It is asked `predict(context, measure_candidates)`, which
            gives a score of at least 0 per candidate (throughput over the best so far), shape
            (candidates,), and trained by `update(context, measure_candidates, results)` after
            each round. A model with an `extractor` shares its features with the rule policy
            (`extractor_of`); one with `num_warmup_samples` and `data_size` tells when it is
            trained (`is_blind`).
        """
        ...


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
    counts as trained.
    """
    warmup_samples = getattr(model, "num_warmup_samples", 0)
    return bool(getattr(model, "data_size", warmup_samples) < warmup_samples)


def required_model(setup: Setup, proposer: object) -> CostModel:
    """The cost model of a setup, for a proposer that cannot do without one.

    Raises:
        StrategyError: The strategy has none.
    """
    if setup.cost_model is None:
        raise StrategyError(
            f"bad cost model None: {type(proposer).__name__} ranks programs by a cost model; "
            "expected one, e.g. cost_model=XGBoostModel()"
        )
    return setup.cost_model
