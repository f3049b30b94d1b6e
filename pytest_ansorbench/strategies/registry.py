"""Strategies by name: those that ship with the package and those that users add."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Final

from pytest_ansorbench.measure.policy import PairedMeasurement, RacingMeasurement
from pytest_ansorbench.strategies.autotvm.chains import Chains
from pytest_ansorbench.strategies.autotvm.inputs import LoopInputs, NestInputs, RelationInputs
from pytest_ansorbench.strategies.autotvm.search import AutoTVM
from pytest_ansorbench.strategies.autotvm.transfer import Transfer
from pytest_ansorbench.strategies.autotvm.treegru import TreeGRU
from pytest_ansorbench.strategies.blackbox.annealing import Annealing
from pytest_ansorbench.strategies.blackbox.bandit import Bandit
from pytest_ansorbench.strategies.blackbox.droplet import Droplet
from pytest_ansorbench.strategies.blackbox.genetic import Genetic
from pytest_ansorbench.strategies.blackbox.grid import Grid
from pytest_ansorbench.strategies.blackbox.tpe import ParzenEstimators
from pytest_ansorbench.strategies.cost_model import NoModel
from pytest_ansorbench.strategies.decisions.experience import Experience
from pytest_ansorbench.strategies.draft.draft import Draft
from pytest_ansorbench.strategies.errors import StrategyError
from pytest_ansorbench.strategies.evolution import Evolution
from pytest_ansorbench.strategies.explore_then_commit import ExploreThenCommit
from pytest_ansorbench.strategies.post_optimization import PostOptimization
from pytest_ansorbench.strategies.program_model import PretrainedModel
from pytest_ansorbench.strategies.proposer import ProposerPolicy
from pytest_ansorbench.strategies.rule_model import PredictedRules
from pytest_ansorbench.strategies.segment_mlp import SegmentMLP
from pytest_ansorbench.strategies.space_policy import LimitedSpace
from pytest_ansorbench.strategies.stock_search import RandomTraces, StockEvolution
from pytest_ansorbench.strategies.strategy import BuildLimit, LastCheck, Strategy

ENTRY_POINT_GROUP: Final = "pytest_ansorbench.strategies"

# Each point that a chain comes by has to become a program.
_SHORT: Final = Chains(count=64, steps=16)

# Where `rules` and `optimized` depart from the paper; docs/strategies.md says why.
_SMALL: Final = Evolution(population=256, rule_share=0.25)


def _without_model(name: str, proposer: ProposerPolicy, description: str) -> Strategy:
    return Strategy(name, proposer, cost_model=NoModel(), description=description)


BUILTIN: Final = (
    Strategy(
        "default",
        proposer=StockEvolution(),
        description="MetaSchedule as it is: evolutionary search, XGBoost cost model",
    ),
    Strategy(
        "etc",
        proposer=Evolution(sketches=ExploreThenCommit(), blind_generations=0),
        description="sketches predicted by improved explore-then-commit, no genetic search "
        "before the cost model is trained",
    ),
    Strategy(
        "rules",
        proposer=replace(_SMALL, rules=PredictedRules()),
        description="mutation rules predicted by a pretrained classifier, a smaller population",
    ),
    Strategy(
        "optimized",
        proposer=replace(
            _SMALL, sketches=ExploreThenCommit(), rules=PredictedRules(), blind_generations=0
        ),
        description="etc and rules together",
    ),
    Strategy(
        "optimized-paper",
        proposer=Evolution(sketches=ExploreThenCommit(), rules=PredictedRules()),
        description="predicted sketches and rules as in the paper, all else stock",
    ),
    Strategy(
        "default-small",
        proposer=StockEvolution(population=_SMALL.population),
        description="a control: the default with the population of rules and optimized",
    ),
    Strategy(
        "default-limited",
        proposer=StockEvolution(),
        space=LimitedSpace(),
        description="a control: the default in a space like that of a template written by hand",
    ),
    Strategy(
        "default-mlp",
        proposer=StockEvolution(),
        cost_model=SegmentMLP(),
        description="MetaSchedule's search with its other cost model, a network in PyTorch",
    ),
    Strategy(
        "default+droplet",
        proposer=PostOptimization(),
        description="a control: default and TVM's post-optimization, both in the budget",
    ),
    Strategy(
        "racing",
        proposer=StockEvolution(),
        measurement=RacingMeasurement(),
        description="MetaSchedule as it is, but slow candidates are run less than contenders",
    ),
    Strategy(
        "paired",
        proposer=StockEvolution(),
        measurement=PairedMeasurement(),
        description="MetaSchedule as it is, but contenders are run in turn with the best so far",
    ),
    Strategy(
        "draft",
        proposer=Draft(),
        cost_model=NoModel(),
        measurement=PairedMeasurement(),
        build_limit=BuildLimit(),
        last_check=LastCheck(),
        description="decisions drafted by a model of this run's measurements, few programs made",
    ),
    Strategy(
        "draft+transfer",
        proposer=Draft(experience=Experience()),
        cost_model=PretrainedModel(),
        measurement=PairedMeasurement(),
        build_limit=BuildLimit(),
        last_check=LastCheck(),
        description="draft that begins with what other shapes and operators have shown",
    ),
    _without_model(
        "random", RandomTraces(), "sketches and annotations drawn at random, no cost model"
    ),
    _without_model("genetic", Genetic(), "a genetic algorithm on decisions, no cost model"),
    _without_model(
        "grid", Grid(), "every point of the space once, in an order that is spread evenly"
    ),
    _without_model(
        "annealing", Annealing(), "simulated annealing on measured throughput, no cost model"
    ),
    _without_model(
        "droplet", Droplet(), "coordinate descents, each from the fastest of some random programs"
    ),
    _without_model("bandit", Bandit(), "a bandit over ways to change decisions, as OpenTuner's"),
    _without_model(
        "tpe",
        ParzenEstimators(),
        "Bayesian: tree-structured Parzen estimators on decisions, by Optuna",
    ),
    _without_model(
        "autotvm",
        AutoTVM(),
        "AutoTVM's: annealing against boosted trees on decisions, diverse batches",
    ),
    _without_model(
        "autotvm+transfer",
        AutoTVM(transfer=Transfer()),
        "autotvm whose trees begin with what other shapes and operators have shown",
    ),
    _without_model(
        "autotvm-loops",
        AutoTVM(inputs=LoopInputs(), chains=_SHORT),
        "autotvm whose trees see features of loops, with shorter chains",
    ),
    _without_model(
        "autotvm-relations",
        AutoTVM(inputs=RelationInputs(), chains=_SHORT),
        "autotvm whose trees see how bytes and reuse grow with loops, shorter chains",
    ),
    _without_model(
        "autotvm-treegru",
        AutoTVM(model=TreeGRU(), inputs=NestInputs(), chains=_SHORT),
        "autotvm by a recurrent network over loops, in PyTorch, shorter chains",
    ),
)


class Registry:
    """Strategies by name, in order of registration."""

    def __init__(self) -> None:
        self._by_name: dict[str, Strategy] = {}
        for strategy in BUILTIN:
            self.add(strategy)

    @classmethod
    def installed(cls) -> Registry:
        """The shipped strategies, and those of installed packages.

        Raises:
            StrategyError: An entry point cannot be loaded or registered.
        """
        registry = cls()
        registry.add_entry_points()
        return registry

    def __iter__(self) -> Iterator[Strategy]:
        return iter(self._by_name.values())

    def add(self, strategy: Strategy) -> None:
        """Register a strategy.

        Raises:
            StrategyError: It is no `Strategy`, or its name is no word, has a comma or colon, or
                is taken.
        """
        if not isinstance(strategy, Strategy):
            raise StrategyError(
                f"bad strategy {strategy!r}: expected a pytest_ansorbench.Strategy, "
                "e.g. Strategy('mine', proposer=StockEvolution())"
            )
        name = strategy.name
        check_strategy_name(name)
        if name in self._by_name:
            raise StrategyError(f"bad strategy name {name!r}: it is taken; choose another")
        self._by_name[name] = strategy

    def add_entry_points(self) -> None:
        """Register what installed packages offer under `pytest_ansorbench.strategies`.

        An entry point names a `Strategy` or a function that returns one.

        Raises:
            StrategyError: An entry point cannot be loaded or registered.
        """
        for entry_point in entry_points(group=ENTRY_POINT_GROUP):
            try:
                loaded = entry_point.load()
                makes_one = callable(loaded) and not isinstance(loaded, Strategy)
                self.add(loaded() if makes_one else loaded)
            except Exception as error:
                reason = (
                    str(error)
                    if isinstance(error, StrategyError)
                    else f"{type(error).__name__}: {error}"
                )
                raise StrategyError(
                    f"bad entry point {entry_point.name} = {entry_point.value}: {reason}"
                ) from error

    def get(self, name: str) -> Strategy:
        """The strategy of that name.

        Raises:
            StrategyError: There is none; the message lists those that are.
        """
        if name not in self._by_name:
            close = difflib.get_close_matches(name, self._by_name, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise StrategyError(
                f"bad strategy {name!r}: expected one of {', '.join(self._by_name)}{hint}"
            )
        return self._by_name[name]


def check_strategy_name(name: str) -> None:
    """Refuse a name that options could not tell from others.

    Raises:
        StrategyError: It is no word, or has a comma or colon.
    """
    if not name or not name.isprintable() or any(c in ", :\t" for c in name):
        raise StrategyError(
            f"bad strategy name {name!r}: expected a word without commas, colons or spaces, "
            "e.g. 'mine'"
        )
