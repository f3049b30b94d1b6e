"""Training of the models that searches begin with: data sets, fits and cards.

`ansor-bench train-rules` trains the model of mutation rules: `collect`, `dataset`, `labels`,
`fit`, `evaluate`, `card`, `train`. `ansor-bench train-draft` trains the cost model of
`draft+transfer` and its experience: `programs`, `fit_programs`, `experience`, `train_draft`. No
search uses this package.
"""

from pytest_ansorbench.training.arrays import BadSamples, digest, save_arrays
from pytest_ansorbench.training.collect import Collector, Effort
from pytest_ansorbench.training.dataset import MixedSamples, Samples, load
from pytest_ansorbench.training.evaluate import Scores, evaluate
from pytest_ansorbench.training.fit import FitSettings, cross_predict, fit
from pytest_ansorbench.training.fit_programs import (
    ProgramFitSettings,
    ProgramScores,
    cross_predict_programs,
    fit_programs,
    score_programs,
)
from pytest_ansorbench.training.labels import LabelSettings, expected_gains, label
from pytest_ansorbench.training.learning import LearningFolder
from pytest_ansorbench.training.programs import Programs, load_programs, programs_of
from pytest_ansorbench.training.train import TrainingPlan, train_rules
from pytest_ansorbench.training.train_draft import DraftTrainingPlan, read_programs, train_draft
from pytest_ansorbench.training.workloads import HELD_OUT, OTHER_FAMILIES, TRAINING

__all__ = [
    "HELD_OUT",
    "OTHER_FAMILIES",
    "TRAINING",
    "BadSamples",
    "Collector",
    "DraftTrainingPlan",
    "Effort",
    "FitSettings",
    "LabelSettings",
    "LearningFolder",
    "MixedSamples",
    "ProgramFitSettings",
    "ProgramScores",
    "Programs",
    "Samples",
    "Scores",
    "TrainingPlan",
    "cross_predict",
    "cross_predict_programs",
    "digest",
    "evaluate",
    "expected_gains",
    "fit",
    "fit_programs",
    "label",
    "load",
    "load_programs",
    "programs_of",
    "read_programs",
    "save_arrays",
    "score_programs",
    "train_draft",
    "train_rules",
]
