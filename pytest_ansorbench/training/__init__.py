"""How the shipped rule model came to be: data set, labels, fit and card.

Nothing here is used by a search; `ansor-bench train-rules` runs it.
"""

from pytest_ansorbench.training.collect import Collector, Effort
from pytest_ansorbench.training.dataset import BadSamples, MixedSamples, Samples, digest, load, save
from pytest_ansorbench.training.evaluate import Scores, evaluate
from pytest_ansorbench.training.fit import FitSettings, cross_predict, fit
from pytest_ansorbench.training.labels import LabelSettings, expected_gains, label
from pytest_ansorbench.training.train import TrainingPlan, train_rules
from pytest_ansorbench.training.workloads import HELD_OUT, TRAINING

__all__ = [
    "HELD_OUT",
    "TRAINING",
    "BadSamples",
    "Collector",
    "Effort",
    "FitSettings",
    "LabelSettings",
    "MixedSamples",
    "Samples",
    "Scores",
    "TrainingPlan",
    "cross_predict",
    "digest",
    "evaluate",
    "expected_gains",
    "fit",
    "label",
    "load",
    "save",
    "train_rules",
]
