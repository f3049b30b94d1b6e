"""Boosters as files: XGBoost's own format, with a header that says what a model is of.

XGBoost's parser takes a file that is damaged to the end of the process. So a model's card, which
lies beside it, has the hash of the model's bytes, and others are never parsed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.causes import last_line
from pytest_ansorbench.storage.files import written_whole

if TYPE_CHECKING:
    from xgboost import Booster

_ATTRIBUTE: Final = "ansor_bench"


class BadModel(ValueError):
    """A file that holds no model of the kind that was asked for, or one that does not fit."""


@dataclass(frozen=True)
class ModelKind:
    """A kind of model, as its files know it."""

    name: str  # e.g. `rule model`
    command: str  # that writes such files, e.g. `ansor-bench train-rules`
    format: int  # version of its features and of its answers
    features: int  # columns that it takes

    def save(self, booster: Booster, path: Path, **more: Any) -> None:
        """Write a booster as the suffix says, `.ubj` or `.json`, with more JSON in its header.

        The file is written whole or not at all. Its card has what tells a damaged one, and nothing
        else yet.
        """
        header = {"format": self.format, "features": self.features, **more}
        booster.set_attr(**{_ATTRIBUTE: json.dumps(header)})
        _write_whole(path, booster.save_raw("json" if path.suffix == ".json" else "ubj"))
        write_card({"model": file_facts(path)}, path)

    def load(self, path: Path) -> tuple[Booster, Mapping[str, Any]]:
        """Read a booster and its header, if it expects what this version extracts."""
        import xgboost

        booster = xgboost.Booster()
        try:
            booster.load_model(bytearray(_described(path)))
        except (xgboost.core.XGBoostError, OSError, ValueError) as error:
            raise BadModel(
                f"bad {self.name} {path}: {last_line(error)}; expected a file that "
                f"{self.command} wrote"
            ) from None
        header = _header(booster.attr(_ATTRIBUTE))
        if header.get("format") != self.format:
            raise BadModel(
                f"bad {self.name} {path}: expected format {self.format}, got "
                f"{header.get('format')}; train it anew with {self.command}"
            )
        for length in (header.get("features"), booster.num_features()):
            if length != self.features:
                raise BadModel(
                    f"bad {self.name} {path}: expected {self.features} features a program, got "
                    f"{length}; train it anew with {self.command}"
                )
        return booster, header


def is_cut_short(model: Path) -> bool:
    """Whether a model's card does not tell of it, as where a kill came between the two."""
    try:
        _described(model)
    except ValueError:
        return True
    except OSError:
        return False  # who loads it is told why
    return False


def card_beside(model: Path) -> Path:
    """Where a model's card lies."""
    return model.with_suffix(".card.json")


def file_facts(path: Path) -> dict[str, Any]:
    """What a card tells of a file."""
    content = path.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def write_card(card: Mapping[str, Any], model: Path) -> Path:
    """Write a model's card beside it.

    Nothing on it may depend on when or where the fit was made: equal data give an equal card.
    """
    path = card_beside(model)
    _write_whole(path, (json.dumps(card, indent=2) + "\n").encode())
    return path


def _described(model: Path) -> bytes:
    """What a file holds, if its card tells of just that."""
    content, card = model.read_bytes(), card_beside(model)
    try:
        # Cards of earlier versions may have NaN.
        told = json.loads(card.read_text(encoding="utf-8"))["model"]["sha256"]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        told = None
    if told != hashlib.sha256(content).hexdigest():
        raise ValueError(
            f"its card, {card.name}, does not tell of this file, as where one of them was cut "
            "short, changed or left behind"
        )
    return content


def _write_whole(path: Path, content: bytes | bytearray) -> None:
    with written_whole(path) as file:
        file.write(content)


def _header(text: str | None) -> dict[str, Any]:
    try:
        header = json.loads(text or "")
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}
