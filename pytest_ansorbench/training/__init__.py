"""Training of the rule model: data set, labels, fit and card.

`ansor-bench train-rules` runs it; no search uses it.
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
