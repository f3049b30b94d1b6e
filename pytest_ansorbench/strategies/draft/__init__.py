"""Draft: a search in the space of a sketch's decisions, which makes few programs.

A round goes one way: `space` says what can be decided, `neighbourhood` gathers vectors of
decisions, `encoding` and `footprints` make features of them, `model` predicts their throughput and
`compiling` what it costs to try them, `niches` keeps them apart, `sharing` divides the trials among
sketches; `draft` is the search that does all this. Of the space, `knobs` are the decisions, and
`placement` knows where blocks can be computed. `advice` is what a trained cost model is asked,
before the first round or about drafts that became programs. `evidence` is what is known of a task,
`siblings` what other tasks of a network have measured, `experience` what was measured before,
`prior` how much these two count; `expectation` is what a scheduler is told, and what may end it
all.
"""

from pytest_ansorbench.strategies.draft.advice import Survey, Verification
from pytest_ansorbench.strategies.draft.compiling import CompileTime
from pytest_ansorbench.strategies.draft.draft import Draft, SharePolicy
from pytest_ansorbench.strategies.draft.expectation import Plateau
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
from pytest_ansorbench.strategies.draft.vector_units import VectorUnits

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
