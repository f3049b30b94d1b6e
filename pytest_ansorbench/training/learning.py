"""A folder in which the user's own model grows: every bench adds what it has measured."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.storage import Past
from pytest_ansorbench.storage.machine import digest
from pytest_ansorbench.storage.numbered import stored_name
from pytest_ansorbench.strategies import Draft, PretrainedModel, Strategy
from pytest_ansorbench.strategies.model_file import is_cut_short
from pytest_ansorbench.strategies.program_model import SHIPPED
from pytest_ansorbench.training.arrays import save_arrays
from pytest_ansorbench.training.fit_programs import ProgramFitSettings
from pytest_ansorbench.training.programs import Tasks, programs_of
from pytest_ansorbench.training.train_draft import experience_beside, train_draft

MODEL: Final = "draft.ubj"

# Fewer than for the shipped model, which they correct.
_SETTINGS: Final = ProgramFitSettings(trees=100)


@dataclass(frozen=True)
class LearningFolder:
    """Samples of all benches that were told to learn, and the model that they have made.

    The model goes on from the shipped one, and is made anew from all samples after each bench.
    It is read when a run starts and written when a session ends, so that all repeats of a session
    begin with the same model.
    """

    path: Path

    @property
    def is_cut_short(self) -> bool:
        """Whether a kill, or two sessions at once, left a model without its card."""
        return is_cut_short(self.path / MODEL)

    @property
    def model(self) -> Path | None:
        """The user's own model; None while nothing has been learnt, or if it was cut short.

        What is learnt next makes it anew.
        """
        model = self.path / MODEL
        return model if model.is_file() and not self.is_cut_short else None

    @property
    def samples(self) -> Path:
        """Folder of what was measured, a file for each task of a session."""
        return self.path / "samples"

    @property
    def conditions(self) -> Mapping[str, Any]:
        """What of it decides measurements: a run goes on with the model that it began with."""
        model = self.model
        files = [] if model is None else [model, experience_beside(model)]
        content = b"".join(path.read_bytes() for path in files)
        return {"learnt_model": hashlib.sha256(content).hexdigest()[:12] if files else ""}

    def equipped(self, strategy: Strategy) -> Strategy:
        """The strategy with the user's model and experience in place of those that ship."""
        model = self.model
        return strategy if model is None else _with(model, strategy)

    def learn(self, past: Past, tasks: Tasks) -> str:
        """Add what a session has measured, make the model anew, and say so in a line.

        To learn from the same journal again changes nothing.
        """
        self.samples.mkdir(parents=True, exist_ok=True)
        session = _name_of(past)
        added = 0
        for index, programs in enumerate(programs_of(past, tasks)):
            name = stored_name(f"{session}-{index:03d}-{programs.task}")
            save_arrays(programs, self.samples / f"{name}.npz")
            added += len(programs.latencies_s)
        if not added:
            return f"nothing learnt: no trials for {self.path}"
        card = train_draft(
            [self.samples],
            self.path / MODEL,
            tasks,
            command="learnt from benches",
            settings=_SETTINGS,
            base=SHIPPED,
        )
        return (
            f"learnt: {added} programs added to {self.path}, {card['data']['programs']} in all; "
            "draft+transfer begins with them from the next session on"
        )


def learns(strategy: Strategy) -> bool:
    """Whether a strategy searches otherwise with what was learnt in a folder."""
    return _with(Path(MODEL), strategy) is not strategy


def _with(model: Path, strategy: Strategy) -> Strategy:
    cost_model, proposer = strategy.cost_model, strategy.proposer
    if isinstance(cost_model, PretrainedModel) and cost_model.path == SHIPPED:
        strategy = replace(strategy, cost_model=replace(cost_model, path=model))
    if isinstance(proposer, Draft) and proposer.experience is not None:
        experience = proposer.experience
        if experience.path == experience_beside(SHIPPED):
            mine = replace(experience, path=experience_beside(model))
            strategy = replace(strategy, proposer=replace(proposer, experience=mine))
    return strategy


def _name_of(past: Past) -> str:
    """Of a session: that of no other, though it began in the same second."""
    session = past.session
    began = re.sub(r"\D", "", session.created)[:14]
    number, _, _ = past.path.name.partition(".")
    parts = [number, session.machine, session.settings, session.cases]
    return f"{began}-{digest(parts)[:8]}"
