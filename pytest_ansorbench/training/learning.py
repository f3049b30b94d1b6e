"""A folder in which the user's own model grows: every bench adds what it has measured."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.storage import Past
from pytest_ansorbench.strategies import Draft, PretrainedModel, Strategy
from pytest_ansorbench.strategies.program_model import SHIPPED
from pytest_ansorbench.training.arrays import save_arrays
from pytest_ansorbench.training.fit_programs import ProgramFitSettings
from pytest_ansorbench.training.programs import Tasks, programs_of
from pytest_ansorbench.training.train_draft import (
    DraftTrainingPlan,
    experience_beside,
    train_draft,
)

MODEL: Final = "draft.ubj"
SAMPLES: Final = "samples"

_SETTINGS: Final = ProgramFitSettings(trees=100)
"""Fewer than for the shipped model, which they correct."""


@dataclass(frozen=True)
class LearningFolder:
    """Samples of all benches that were told to learn, and the model that they have made.

    The model goes on from the shipped one, and is made anew from all samples after each bench.
    It is read when a run starts and written when a session ends, so that all repeats of a session
    begin with the same model.

    Attributes:
        path: The folder.
    """

    path: Path

    @property
    def model(self) -> Path | None:
        """The user's own model; None while nothing has been learnt."""
        model = self.path / MODEL
        return model if model.is_file() else None

    @property
    def conditions(self) -> Mapping[str, Any]:
        """What of it decides measurements: a run goes on with the model that it began with."""
        model = self.model
        files = [] if model is None else [model, experience_beside(model)]
        content = b"".join(path.read_bytes() for path in files)
        return {"learnt_model": hashlib.sha256(content).hexdigest()[:12] if files else ""}

    def equipped(self, strategy: Strategy) -> Strategy:
        """A strategy with what the user's benches have measured beside what is shipped.

        Args:
            strategy: Any; only one that begins with the shipped `PretrainedModel` or `Experience`
                changes.
        """
        cost_model, proposer, model = strategy.cost_model, strategy.proposer, self.model
        if model is None:
            return strategy
        if isinstance(cost_model, PretrainedModel) and cost_model.path == SHIPPED:
            strategy = replace(strategy, cost_model=replace(cost_model, path=model))
        if isinstance(proposer, Draft) and proposer.experience is not None:
            experience = proposer.experience
            if experience.path == experience_beside(SHIPPED):
                mine = replace(experience, path=experience_beside(model))
                strategy = replace(strategy, proposer=replace(proposer, experience=mine))
        return strategy

    def learn(self, past: Past, tasks: Tasks) -> str:
        """Add what a session has measured, and make the model anew.

        To learn from the same journal again changes nothing.

        Args:
            past: The session's journal.
            tasks: Finds the tasks of its cases.

        Returns:
            What was done, in a line.

        Raises:
            BadSamples: The journal does not fit its cases, or a file of samples is damaged.
            OSError: The folder cannot be written.
        """
        samples = self.path / SAMPLES
        samples.mkdir(parents=True, exist_ok=True)
        began = re.sub(r"\D", "", past.session.created)[:14]
        added = 0
        for index, programs in enumerate(programs_of(past, tasks)):
            name = re.sub(r"[^\w.-]", "-", f"{began}-{index:03d}-{programs.task}")[:120]
            save_arrays(programs, samples / f"{name}.npz")
            added += len(programs.latencies_s)
        if not added:
            return f"nothing learnt: no trials for {self.path}"
        card = train_draft(
            DraftTrainingPlan(
                sources=[samples],
                output=self.path / MODEL,
                command="learnt from benches",
                tasks=tasks,
                settings=_SETTINGS,
                base=SHIPPED,
            ),
            lambda line: None,
        )
        return (
            f"learnt: {added} programs added to {self.path}, {card['data']['programs']} in all; "
            "draft+transfer begins with them from the next session on"
        )
