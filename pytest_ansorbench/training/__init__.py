"""Training of the models that searches begin with; no search uses this package.

`collect` and `train_rules` make the model of mutation rules; `train_draft` the cost model of
`draft+transfer` and its experience, also for `LearningFolder`.
"""

from pytest_ansorbench.training.arrays import BadSamples
from pytest_ansorbench.training.fit_programs import ProgramFitSettings
from pytest_ansorbench.training.learning import LearningFolder
from pytest_ansorbench.training.rule_samples import Effort, MixedSamples, collect
from pytest_ansorbench.training.train_draft import train_draft
from pytest_ansorbench.training.train_rules import train_rules
from pytest_ansorbench.training.workloads import HELD_OUT, OTHER_FAMILIES, TODAY, TRAINING

__all__ = [
    "HELD_OUT",
    "OTHER_FAMILIES",
    "TODAY",
    "TRAINING",
    "BadSamples",
    "Effort",
    "LearningFolder",
    "MixedSamples",
    "ProgramFitSettings",
    "collect",
    "train_draft",
    "train_rules",
]
