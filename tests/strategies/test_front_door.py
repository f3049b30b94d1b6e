"""All that it takes to write a policy is exported, and the example of the package runs."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap

import pytest

from pytest_ansorbench import strategies
from pytest_ansorbench.search import Search
from tests.search.rounds import stepped
from tests.strategies.setups import MATMUL

PROTOCOLS = [
    strategies.Proposer,
    strategies.ProposerPolicy,
    strategies.PointSearch,
    strategies.PointSearchPolicy,
    strategies.SketchPolicy,
    strategies.SketchChooser,
    strategies.RulePolicy,
    strategies.RuleChooser,
    strategies.CostModelPolicy,
    strategies.SpacePolicy,
    strategies.Measurement,
    strategies.Stopwatch,
]


def example() -> str:
    """The code in the package's docstring."""
    lines = strategies.__doc__.splitlines()
    first = lines.index("    import random")
    last = max(n for n, line in enumerate(lines) if line.startswith("    STRATEGY"))
    return textwrap.dedent("\n".join(lines[first : last + 1]))


def test_the_example_is_a_strategy_that_searches(fast_engine):
    names = {}
    exec(example(), names)
    search = Search(
        MATMUL,
        MATMUL.tasks(),
        names["STRATEGY"],
        fast_engine,
        seed=0,
        budget_trials=6,
        round_trials=3,
    )
    entries = stepped(search, 2)
    assert [trial.status for entry in entries for trial in entry.trials] == ["ok"] * 6
    assert entries[-1].round.decisions["best_gflops"] == pytest.approx(search.best_gflops)


def methods(cls):
    return [
        method
        for name, method in vars(cls).items()
        if inspect.isfunction(method) and not name.startswith("_")
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_a_protocol_says_what_its_methods_are_given(protocol):
    assert inspect.getdoc(protocol)
    for method in methods(protocol):
        doc = inspect.getdoc(method)
        for name in [*inspect.signature(method).parameters][1:]:
            assert f"{name}:" in doc or f"`{name}`" in doc, method


def test_every_export_is_documented():
    for name in strategies.__all__:
        exported = getattr(strategies, name)
        if inspect.isclass(exported) or inspect.isfunction(exported):
            assert exported.__doc__, name
            for method in methods(exported) if inspect.isclass(exported) else ():
                assert method.__doc__, method


def test_neither_an_export_nor_a_list_of_all_imports_tvm():
    code = (
        "import sys; from pytest_ansorbench.strategies import *; "
        "Strategy('x', proposer=Evolution(ExploreThenCommit(), PredictedRules())); "
        "list(Registry()); "
        "print({'tvm', 'tvm_ffi', 'xgboost'} & set(sys.modules))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.stdout.strip() == "set()", completed.stderr
