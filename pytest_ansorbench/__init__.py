"""Benchmarks and gates for tensor-program auto-tuners, as a pytest plugin.

What users import: `workloads` for cases, `Strategy` and the policies in `strategies` for
searches of their own, `AnsorBench` to annotate the fixture, `tune` to tune without pytest.
Importing this package imports none of them until asked, and never TVM.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ansorbench import records, strategies, workloads
    from pytest_ansorbench.plugin import AnsorBench, UndecidedWarning
    from pytest_ansorbench.strategies import Strategy
    from pytest_ansorbench.tuning import Tuned, tune

__all__ = [
    "AnsorBench",
    "Strategy",
    "Tuned",
    "UndecidedWarning",
    "records",
    "strategies",
    "tune",
    "workloads",
]


def __getattr__(name: str) -> Any:
    # PEP 562: the plugin's start-up must not pay for NumPy, which cases need.
    if name in ("records", "strategies", "workloads"):
        return importlib.import_module(f"{__name__}.{name}")
    if name == "Strategy":
        return importlib.import_module(f"{__name__}.strategies").Strategy
    if name in ("Tuned", "tune"):
        return getattr(importlib.import_module(f"{__name__}.tuning"), name)
    if name in ("AnsorBench", "UndecidedWarning"):
        return getattr(importlib.import_module(f"{__name__}.plugin"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
