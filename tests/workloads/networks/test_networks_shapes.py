"""Dimensions as arithmetic of names, and what of it is no arithmetic."""

from __future__ import annotations

import pytest

from pytest_ansorbench.workloads import ImportFailed
from pytest_ansorbench.workloads.networks.shapes import BadExpression, Dimension, fix, shown

S0 = "Symbol('s0', positive=True, integer=True)"


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("s0", 10, "s0"),
        ("2*s0 + 1", 21, "2 * s0 + 1"),
        ("(s0 - 1)//2 % 3", 1, "(s0 - 1) // 2 % 3"),
        ("-s0 + 12", 2, "-s0 + 12"),
        ("Max(1, s0)", 10, "Max(1, s0)"),
        (S0, 10, "s0"),
        (f"Add(FloorDiv(Add({S0}, Integer(-3)), Integer(2)), Integer(1))", 4, "(s0 + -3)//2 + 1"),
        (f"Mul(Integer(2), {S0}, Min({S0}, Integer(4)))", 80, "2*s0*(Min(s0, 4))"),
        (f"Pow({S0}, Integer(3))", 1000, "s0**3"),
        (f"Mod({S0}, Integer(4))", 2, "s0%4"),
    ],
)
def test_arithmetic_is_read_as_people_and_as_sympy_write_it(text, value, written):
    dimension = Dimension.parse(text)
    assert (dimension.symbols, dimension.value({"s0": 10})) == (("s0",), value)
    assert str(dimension) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s0 s1",
        "1.5",
        "True",
        "'s0'",
        "s0.bit_length()",
        "s0[0]",
        "f(s0)",
        "lambda: 1",
        "[s0 for s0 in (1,)]",
        "(s0 := 1)",
        "s0 ** 99",
        "__import__('os').system('true')",
        "Symbol('a b')",
        "Symbol('s0', positive=print())",
        "Integer(s0)",
        "Add(*s0)",
        "Add()",
        "Pow(2, 1000000000)",
        "Pow(Integer(2), s0)",
        pytest.param("-" * 19_000 + "1", id="deep"),
        pytest.param("(" * 3000, id="open"),
        pytest.param("+".join(["s0"] * 6000), id="long"),
        pytest.param("1" * 30_000, id="too-long"),
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(BadExpression):
        Dimension.parse(text)


def test_what_cannot_be_computed_is_refused():
    with pytest.raises(BadExpression, match="8 // s0"):
        Dimension.parse("8 // s0").value({"s0": 0})
    with pytest.raises(BadExpression):
        Dimension.parse("s0").value({})
    with pytest.raises(
        ImportFailed, match=r"^model: bad shapes: 8 // \(s0 - 1\) is no number then"
    ):
        fix("model", {"x": [Dimension.parse("8 // (s0 - 1)"), Dimension.named("s0")]}, {"s0": 1})


def test_symbols_are_learnt_from_shapes():
    inputs = {"x": [Dimension.parse("2*n + m"), 3], "y": [Dimension.named("m")], "z": None}
    given = {"y": (4,), "x": (10, 3), "z": (1, 2)}
    fixed = fix("model", inputs, given)
    assert fixed.symbols == {"m": 4, "n": 3}
    assert fixed.shapes == {"x": (10, 3), "y": (4,), "z": (1, 2)}
    assert fixed.changed == ()


def test_a_number_may_stand_for_a_shape_of_one_dimension():
    assert fix("model", {"x": [None]}, {"x": 3}).shapes == {"x": (3,)}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            None,
            r"the shape of its input 'x', of any rank, is open; give it, e.g. shapes={'x': \(1,\)}",
        ),
        ([None, 2], r"'x', \(\?, 2\), is open; give it, e.g. shapes={'x': \(1, 2\)}$"),
    ],
)
def test_what_has_no_name_is_given_by_input(wanted, message):
    with pytest.raises(ImportFailed, match=message):
        fix("model", {"x": wanted}, {})


def test_a_fixed_number_may_change_only_where_it_is_said_so():
    with pytest.raises(
        ImportFailed, match=r"bad shape \(8,\) of its input 'x': the model has \(1,\)"
    ):
        fix("model", {"x": [1]}, {"x": (8,)})
    fixed = fix("model", {"x": [1]}, {"x": (8,)}, may_change=True)
    assert fixed.shapes == {"x": (8,)}
    assert fixed.changed == ("bad shape (8,) of its input 'x': the model has (1,)",)


def test_shapes_are_shown_as_tuples():
    assert [shown(one) for one in ((), (1,), (None, 2))] == ["()", "(1,)", "(?, 2)"]
