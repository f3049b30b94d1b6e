"""What is told of an error, and whose it is."""

from __future__ import annotations

import json

import pytest

from pytest_ansorbench.workloads.networks.failures import cause_of, told


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("as it is", "as it is"),
        ("two\n  lines", "two lines"),
        ("Check failed: (a == b) is false: shapes differ", "shapes differ"),
        (
            "of m[0]\n# Metadata omitted. Use show_meta=True in script() method to show it. is",
            "of m[0] is",
        ),
        ("bad node\nTraceback (most recent call last):\n  File x\nKeyError: 7", "KeyError: 7"),
        ("x" * 301, "x" * 300 + " ..."),
        ("", "ValueError"),
    ],
)
def test_a_cause_is_one_line(text, cause):
    assert cause_of(ValueError(text)) == cause


def test_where_nobody_meant_to_raise_is_told():
    with pytest.raises(TypeError) as caught:
        json.loads(None)
    assert cause_of(caught.value).startswith("TypeError: the JSON object must be ")
    assert " (json/__init__.py:" in cause_of(caught.value)
    assert cause_of(caught.value).endswith(", in loads)")


@pytest.mark.parametrize("fail", [lambda: 1 / 0, lambda: json.loads("no JSON")])
def test_what_no_library_of_models_raises_passes(fail):
    with pytest.raises((ZeroDivisionError, json.JSONDecodeError)), told("bad model"):
        fail()
