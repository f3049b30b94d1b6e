"""Scripts of `benchmarks/`, which import each other by name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def import_script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a script by its name; all scripts are forgotten at the end."""
    for folder in (BENCHMARKS, BENCHMARKS / "faults"):
        monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module
    for path in BENCHMARKS.rglob("*.py"):
        sys.modules.pop(path.stem, None)
