"""Strategies by name: found, refused, and loaded from other packages."""

from __future__ import annotations

import sys

import pytest

from pytest_ansorbench.metaschedule import tune_parts
from pytest_ansorbench.strategies import BUILTIN, RandomTraces, Registry, Strategy, StrategyError


def test_the_shipped_ones_are_there_in_order():
    """The README names them (tests/plugin/test_readme.py)."""
    assert tuple(Registry()) == BUILTIN
    assert all(strategy.description for strategy in BUILTIN)


def test_an_unknown_name_is_answered_with_the_known_ones_and_a_guess():
    with pytest.raises(StrategyError, match=r"bad strategy 'defualt': expected one of default, "):
        Registry().get("defualt")
    with pytest.raises(StrategyError, match=r"did you mean 'default'\?"):
        Registry().get("defualt")


@pytest.mark.parametrize("name", ["", "a,b", "a b", "tab\tbed", "my:thing"])
def test_names_that_cannot_be_typed_are_refused(name):
    with pytest.raises(StrategyError, match="bad strategy name"):
        Registry().add(Strategy(name, proposer=RandomTraces()))


def test_a_taken_name_is_refused():
    with pytest.raises(StrategyError, match="bad strategy name 'etc': it is taken"):
        Registry().add(Strategy("etc", proposer=RandomTraces()))


def test_what_is_no_strategy_is_refused():
    with pytest.raises(StrategyError, match=r"expected a pytest_ansorbench\.Strategy"):
        Registry().add("mine")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution that offers a strategy, and forget it after the test."""

    def package(target, code):
        (tmp_path / "plugged.py").write_text(code)
        info = tmp_path / "plugged-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[pytest_ansorbench.strategies]\nplugged = plugged:{target}\n"
        )
        monkeypatch.syspath_prepend(tmp_path)

    yield package
    sys.modules.pop("plugged", None)


CODE = (
    "from pytest_ansorbench.strategies import RandomTraces, Strategy\n"
    "STRATEGY = Strategy('plugged', proposer=RandomTraces())\n"
    "def make(): return STRATEGY\n"
)


@pytest.mark.parametrize("target", ["STRATEGY", "make"])
def test_an_entry_point_may_name_a_strategy_or_a_function(install, target):
    install(target, CODE)
    registry = Registry()
    registry.add_entry_points()
    assert registry.get("plugged").name == "plugged"


def test_what_packages_offer_is_known_to_tune_parts_too(install, target):
    install("STRATEGY", CODE)
    assert {*tune_parts("plugged", target)} == {"space", "strategy", "cost_model"}


@pytest.mark.parametrize(
    ("target", "code", "reason"),
    [
        ("missing", CODE, "AttributeError: module 'plugged' has no attribute 'missing'"),
        ("make", "def make(): return 1 / 0", "ZeroDivisionError: division by zero"),
        ("make", "def make(): return 'mine'", "bad strategy 'mine': expected a pytest_ansor"),
        ("make", "make = 3", "bad strategy 3: expected a pytest_ansorbench.Strategy"),
        ("make", "import nonsense", "ModuleNotFoundError: No module named 'nonsense'"),
    ],
)
def test_a_broken_entry_point_is_named(install, target, code, reason):
    install(target, code)
    with pytest.raises(StrategyError) as raised:
        Registry().add_entry_points()
    assert str(raised.value).startswith(f"bad entry point plugged = plugged:{target}: {reason}")
