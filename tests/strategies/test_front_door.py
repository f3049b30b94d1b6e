"""All that it takes to write a policy is exported and documented."""

from __future__ import annotations

import inspect

import pytest

from pytest_ansorbench import strategies

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
