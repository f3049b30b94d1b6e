"""Draft: a search in the space of a sketch's decisions, which makes few programs.

A round goes one way: `space` says what can be decided, `neighbourhood` gathers vectors of
decisions, `encoding` and `footprints` make features of them, `model` predicts their throughput and
`compiling` what it costs to try them, `niches` keeps them apart, `sharing` divides the trials among
sketches, `verification` chooses among the programs that were made of the best; `draft` is the
search that does all this. Of the space, `knobs` are the decisions, and `locations` and `placement`
know where blocks can be computed. `survey` comes before the first round, if the cost model is
trained by then; `stopping` may end it all; `evidence` is what is known of a task, `siblings` what
other tasks of a network have measured, `experience` what was measured before, `prior` how much
these two count; `expectation` is what a scheduler is told.
"""

from pytest_ansorbench.strategies.draft.compiling import CompileTime
from pytest_ansorbench.strategies.draft.draft import Draft, SharePolicy
from pytest_ansorbench.strategies.draft.experience import (
    Experience,
    is_experience,
    save_experience,
)
from pytest_ansorbench.strategies.draft.model import (
    BoostedTrees,
    DecisionModel,
    DecisionModelPolicy,
)
from pytest_ansorbench.strategies.draft.neighbourhood import Neighbourhood
from pytest_ansorbench.strategies.draft.niches import FitnessSharing
from pytest_ansorbench.strategies.draft.prior import Prior
from pytest_ansorbench.strategies.draft.sharing import EqualShares, SharpeningShares
from pytest_ansorbench.strategies.draft.siblings import Siblings
from pytest_ansorbench.strategies.draft.stopping import Plateau
from pytest_ansorbench.strategies.draft.survey import Survey
from pytest_ansorbench.strategies.draft.vector_units import VectorUnits
from pytest_ansorbench.strategies.draft.verification import Verification

__all__ = [
    "BoostedTrees",
    "CompileTime",
    "DecisionModel",
    "DecisionModelPolicy",
    "Draft",
    "EqualShares",
    "Experience",
    "FitnessSharing",
    "Neighbourhood",
    "Plateau",
    "Prior",
    "SharePolicy",
    "SharpeningShares",
    "Siblings",
    "Survey",
    "VectorUnits",
    "Verification",
    "is_experience",
    "save_experience",
]
