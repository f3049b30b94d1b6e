"""Toolchains as users write them."""

from __future__ import annotations

import pytest

from pytest_ansorbench.measure.toolchain import Toolchain, check_names, toolchains


def test_keys_with_a_dot_are_options_of_passes_and_others_of_the_target():
    text = "wide:mcpu=x86-64-v3,num-cores=1,tirx.disable_vectorize=true"
    parsed = Toolchain.parse_variant(text)
    assert parsed == Toolchain(
        "wide",
        target={"mcpu": "x86-64-v3", "num-cores": 1},
        passes={"tirx.disable_vectorize": True},
    )
    assert Toolchain.parse_variant(str(parsed)) == parsed
    assert parsed.conditions() == {"target": dict(parsed.target), "passes": dict(parsed.passes)}


def test_a_list_keeps_its_commas():
    parsed = Toolchain.parse_variant('no:mattr=["-avx2","-fma"],opt-level=1')
    assert parsed.target == {"mattr": ["-avx2", "-fma"], "opt-level": 1}


@pytest.mark.parametrize("text", ["", "wide", "wide:", "wide:mcpu", "wide:=1", ":mcpu=1"])
def test_what_is_no_variant_is_refused_with_one(text):
    with pytest.raises(ValueError, match=r"expected NAME:KEY=VALUE|bad name ''"):
        Toolchain.parse_variant(text)


def test_a_key_counts_once():
    with pytest.raises(ValueError, match="expected each key once"):
        Toolchain.parse_variant("a:mcpu=x,mcpu=y")


@pytest.mark.parametrize("name", ["a b", "-x", "a|b", "ä"])
def test_names_are_plain_words(name):
    with pytest.raises(ValueError, match="bad name"):
        Toolchain.parse_variant(f"{name}:mcpu=x")
    with pytest.raises(ValueError, match="bad name"):
        Toolchain.parse_interpreter(f"{name}=python")


@pytest.mark.parametrize("names", [["a", "a"], ["today"], ["a", "against"]])
def test_each_name_stands_for_one_toolchain(names):
    with pytest.raises(ValueError, match="expected another"):
        check_names([Toolchain(name) for name in names])


def test_the_reference_comes_first():
    variant = Toolchain("a", target={"opt-level": 1})
    assert toolchains(None, []) == (Toolchain(),)
    assert toolchains(None, [variant]) == (Toolchain(), variant)
    assert [one.name for one in toolchains("python", [variant])] == ["against", "today", "a"]
