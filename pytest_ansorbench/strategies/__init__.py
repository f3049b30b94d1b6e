"""Strategies: how candidates are proposed, scored and measured.

A `Strategy` is a name and a choice of policies. A policy is a frozen dataclass of parameters whose
`start` makes the object that does the work for one task of one run. To write one, implement

- `ProposerPolicy` and `Proposer` to choose candidates in a way of your own;
- `PointSearchPolicy` and `PointSearch` to choose among vectors of decisions, without a program;
- a `DecisionModelPolicy` or `SharePolicy` to change what `Draft` does;
- `SketchPolicy` and `SketchChooser` to say which sketches `Evolution` draws new programs from;
- `RulePolicy` and `RuleChooser` to say which rules `Evolution` mutates programs by;
- `CostModelPolicy` to score candidates by another model;
- `SpacePolicy` to have other sketches, by schedule rules of your own (`stock_rules` are TVM's);
- `Measurement`, which has no `start`, to say how long a candidate is run, or
  `ComparingMeasurement` to run it beside the best so far.

A `BuildLimit` gives up candidates that compile for too long; a `LastCheck` has the fastest few
compared side by side before a run names its winner.

`ProgramMaker` makes programs of sketches and traces. This is random search, complete:

    import random
    from dataclasses import dataclass

    from pytest_ansorbench.strategies import NoModel, ProgramMaker, Strategy, draw_seed, undecided

    @dataclass(frozen=True)
    class Uniform:
        def start(self, setup):
            return UniformSearch(setup)

    class UniformSearch:
        def __init__(self, setup):
            self.maker = ProgramMaker(setup.context)
            self.sketches = undecided(setup.sketches)
            self.rng = setup.rng
            self.best_gflops = 0.0

        def propose(self, trials):
            source = random.Random(int(self.rng.integers(2**63)))
            sketches = source.choices(self.sketches, k=trials)
            seeds = [draw_seed(source) for _ in sketches]
            programs = self.maker.sample(sketches, seeds)
            return [
                program.candidate(payload={"place": place})
                for place, program in enumerate(programs)
            ]

        def learn(self, batch):
            self.best_gflops = max([self.best_gflops, *(seen.gflops for seen in batch)])

        def recall(self, candidates):
            pass

        def decisions(self):
            return {"best_gflops": self.best_gflops}

    STRATEGY = Strategy("uniform", proposer=Uniform(), cost_model=NoModel())

Return `[STRATEGY]` from the hook `pytest_ansorbench_strategies` in a conftest.py, and
`--ansor-strategy default,uniform` runs it. Importing this package does not import TVM; policies
import it when they are started.
"""

from pytest_ansorbench.measure.policy import (
    ComparingMeasurement,
    FixedMeasurement,
    Measurement,
    PairedMeasurement,
    RacingMeasurement,
    Stopwatch,
)
from pytest_ansorbench.strategies.autotvm.chains import Chains
from pytest_ansorbench.strategies.autotvm.diversity import Diversity
from pytest_ansorbench.strategies.autotvm.inputs import (
    DecisionInputs,
    LoopInputs,
    ModelInputs,
    NestInputs,
    RelationInputs,
)
from pytest_ansorbench.strategies.autotvm.search import AutoTVM
from pytest_ansorbench.strategies.autotvm.transfer import Transfer
from pytest_ansorbench.strategies.autotvm.treegru import TreeGRU
from pytest_ansorbench.strategies.autotvm.trees import RankingTrees
from pytest_ansorbench.strategies.blackbox.annealing import Annealing
from pytest_ansorbench.strategies.blackbox.bandit import Bandit
from pytest_ansorbench.strategies.blackbox.droplet import Droplet
from pytest_ansorbench.strategies.blackbox.genetic import Genetic
from pytest_ansorbench.strategies.blackbox.grid import Grid
from pytest_ansorbench.strategies.blackbox.tpe import ParzenEstimators
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.cost_model import (
    CostModelPolicy,
    NoModel,
    XGBoostModel,
    is_blind,
    required_model,
)
from pytest_ansorbench.strategies.decisions.acquisition import (
    Acquisition,
    Bagged,
    ExpectedImprovement,
    Mean,
    UpperConfidenceBound,
)
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.experience import Experience
from pytest_ansorbench.strategies.decisions.model import (
    BoostedTrees,
    DecisionModel,
    DecisionModelPolicy,
)
from pytest_ansorbench.strategies.decisions.point_search import (
    PointSearch,
    PointSearchPolicy,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.draft.draft import Draft, SharePolicy
from pytest_ansorbench.strategies.draft.neighbourhood import Neighbourhood
from pytest_ansorbench.strategies.draft.prior import Prior
from pytest_ansorbench.strategies.draft.sharing import SharpeningShares
from pytest_ansorbench.strategies.draft.survey import Survey
from pytest_ansorbench.strategies.draft.vector_units import VectorUnits
from pytest_ansorbench.strategies.errors import BadAnswer, StrategyError
from pytest_ansorbench.strategies.evolution import Evolution
from pytest_ansorbench.strategies.explore_then_commit import ExploreThenCommit
from pytest_ansorbench.strategies.features import (
    PER_STORE,
    POOLED,
    extract,
    extractor_of,
    pool,
    remembering_extractor,
)
from pytest_ansorbench.strategies.model_file import BadModel
from pytest_ansorbench.strategies.post_optimization import PostOptimization
from pytest_ansorbench.strategies.program_maker import (
    ProgramMaker,
    ScheduledProgram,
    draw_seed,
    mutate,
    undecided,
)
from pytest_ansorbench.strategies.program_model import (
    PretrainedModel,
    ProgramModel,
    load_program_model,
    log2_throughput,
)
from pytest_ansorbench.strategies.proposer import Observation, Proposer, ProposerPolicy, Setup
from pytest_ansorbench.strategies.registry import BUILTIN, ENTRY_POINT_GROUP, Registry
from pytest_ansorbench.strategies.rule_model import PredictedRules, RuleModel, load_rule_model
from pytest_ansorbench.strategies.rule_policy import (
    BY_WEIGHT,
    Features,
    RuleChooser,
    RulePolicy,
    StockRules,
    stock_weights,
)
from pytest_ansorbench.strategies.scheduling import (
    SCHEDULERS,
    GradientScheduler,
    RoundRobin,
    TaskScheduler,
    TaskState,
)
from pytest_ansorbench.strategies.segment_mlp import SegmentMLP
from pytest_ansorbench.strategies.sketch_policy import SketchChooser, SketchPolicy, UniformSketches
from pytest_ansorbench.strategies.space_policy import (
    LimitedSpace,
    SpacePolicy,
    TargetSpace,
    stock_rules,
)
from pytest_ansorbench.strategies.stock_search import RandomTraces, StockEvolution
from pytest_ansorbench.strategies.strategy import BuildLimit, LastCheck, Strategy, control_of

__all__ = [
    "BUILTIN",
    "BY_WEIGHT",
    "ENTRY_POINT_GROUP",
    "PER_STORE",
    "POOLED",
    "SCHEDULERS",
    "Acquisition",
    "Annealing",
    "AutoTVM",
    "BadAnswer",
    "BadModel",
    "Bagged",
    "Bandit",
    "BoostedTrees",
    "BuildLimit",
    "Candidate",
    "Chains",
    "ComparingMeasurement",
    "CostModelPolicy",
    "DecisionInputs",
    "DecisionModel",
    "DecisionModelPolicy",
    "DesignSpace",
    "Diversity",
    "Draft",
    "Droplet",
    "Evolution",
    "ExpectedImprovement",
    "Experience",
    "ExploreThenCommit",
    "Features",
    "FixedMeasurement",
    "Genetic",
    "GradientScheduler",
    "Grid",
    "LastCheck",
    "LimitedSpace",
    "LoopInputs",
    "Mean",
    "Measurement",
    "ModelInputs",
    "Neighbourhood",
    "NestInputs",
    "NoModel",
    "Observation",
    "PairedMeasurement",
    "ParzenEstimators",
    "PointSearch",
    "PointSearchPolicy",
    "PostOptimization",
    "PredictedRules",
    "PretrainedModel",
    "Prior",
    "ProgramMaker",
    "ProgramModel",
    "Proposer",
    "ProposerPolicy",
    "RacingMeasurement",
    "RandomTraces",
    "RankingTrees",
    "Registry",
    "RelationInputs",
    "RoundRobin",
    "RuleChooser",
    "RuleModel",
    "RulePolicy",
    "ScheduledProgram",
    "SegmentMLP",
    "Setup",
    "SharePolicy",
    "SharpeningShares",
    "SketchChooser",
    "SketchPolicy",
    "SpacePolicy",
    "StockEvolution",
    "StockRules",
    "Stopwatch",
    "Strategy",
    "StrategyError",
    "Suggestion",
    "Survey",
    "TargetSpace",
    "TaskScheduler",
    "TaskState",
    "Transfer",
    "TreeGRU",
    "Tried",
    "UniformSketches",
    "UpperConfidenceBound",
    "VectorUnits",
    "XGBoostModel",
    "control_of",
    "draw_seed",
    "extract",
    "extractor_of",
    "is_blind",
    "load_program_model",
    "load_rule_model",
    "log2_throughput",
    "mutate",
    "pool",
    "remembering_extractor",
    "required_model",
    "stock_rules",
    "stock_weights",
    "undecided",
]
