"""How candidates are proposed: policies, strategies composed of them, and their registry."""

from pytest_ansorbench.measure.policy import FixedMeasurement, RacingMeasurement
from pytest_ansorbench.strategies.cost_model import NoModel, XGBoostModel
from pytest_ansorbench.strategies.evolution import Evolution
from pytest_ansorbench.strategies.explore_then_commit import ExploreThenCommit
from pytest_ansorbench.strategies.mutations import StockMutations
from pytest_ansorbench.strategies.predicted_rules import PredictedRules
from pytest_ansorbench.strategies.random_traces import RandomTraces
from pytest_ansorbench.strategies.registry import BUILTIN, Registry, StrategyError
from pytest_ansorbench.strategies.rule_model import BadModel, RuleModel, load_rule_model
from pytest_ansorbench.strategies.rule_policy import RulePolicy, StockRules
from pytest_ansorbench.strategies.sketch_policy import SketchPolicy, UniformSketches
from pytest_ansorbench.strategies.stock_evolution import StockEvolution
from pytest_ansorbench.strategies.strategy import (
    Observation,
    Proposer,
    Setup,
    Strategy,
    control_of,
)

__all__ = [
    "BUILTIN",
    "BadModel",
    "Evolution",
    "ExploreThenCommit",
    "FixedMeasurement",
    "NoModel",
    "Observation",
    "PredictedRules",
    "Proposer",
    "RacingMeasurement",
    "RandomTraces",
    "Registry",
    "RuleModel",
    "RulePolicy",
    "Setup",
    "SketchPolicy",
    "StockEvolution",
    "StockMutations",
    "StockRules",
    "Strategy",
    "StrategyError",
    "UniformSketches",
    "XGBoostModel",
    "control_of",
    "load_rule_model",
]
