"""Parsers of option values: what they take, and what they say of what they do not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.measure.side_by_side import Span
from pytest_ansorbench.options import values
from pytest_ansorbench.options.declarations import option_of


@given(st.integers(1, 10**9))
def test_whole_numbers_come_as_text_or_as_numbers(number):
    parse = values.whole_number(1, 128)
    assert parse(number) == parse(str(number)) == number


@pytest.mark.parametrize("bad", [0, -1, "0", "1.5", 1.5, "", "x", None, True, [1]])
def test_what_is_no_whole_number_is_told_what_is(bad):
    with pytest.raises(ValueError, match=r"expected a whole number of at least 1, e\.g\. 128"):
        values.whole_number(1, 128)(bad)


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_numbers_come_as_text_or_as_numbers(number):
    assert values.positive(number) == values.positive(repr(number)) == number


@pytest.mark.parametrize("bad", [0, -1, "nan", math.nan, "inf", math.inf, "", None, True])
def test_what_is_no_positive_number_is_told_what_is(bad):
    with pytest.raises(ValueError, match=r"expected a number above 0, e\.g\. 30"):
        values.positive(bad)


@pytest.mark.parametrize(
    ("parse", "inside", "outside"),
    [
        (values.share, (0, "0.5", 0.999), (1, -0.1, "nan")),
        (values.level, (0.5, "0.95"), (0, 1, 95)),
    ],
)
def test_ranges_end_where_they_say(parse, inside, outside):
    for value in inside:
        assert parse(value) == float(value)
    for value in outside:
        with pytest.raises(ValueError, match="expected a"):
            parse(value)


@pytest.mark.parametrize("given", ["0.5%", "0.005", 0.005, " 0.5 % ", "5e-3"])
def test_a_precision_is_a_share_or_a_percentage(given):
    assert values.precision(given) == pytest.approx(0.005)
    assert values.precision("0%") == values.precision(0) == 0.0


@pytest.mark.parametrize(
    "bad", ["", "%", "0.5%%", "-1%", "100%", "1", 1, "nan", "nan%", "inf%", "x", None, True, [0.1]]
)
def test_bad_precisions(bad):
    with pytest.raises(ValueError, match=r"a share from 0 up to 1, e\.g\. 0\.5% or 0\.005"):
        values.precision(bad)


@pytest.mark.parametrize(
    ("given", "span"), [("2:4", Span(2, 4)), ("3", Span(3, 3)), (3, Span(3, 3))]
)
def test_spans_come_as_text_or_as_numbers(given, span):
    assert option_of("experiment.final_turns").parse(given) == span


@pytest.mark.parametrize("bad", ["", "4:2", "0", 0, -1, "1:2:3", "x", 1.5, None, True, [1, 2]])
def test_bad_spans(bad):
    with pytest.raises(ValueError, match=r"a least and a most number, both from 1, e\.g\. 20:60"):
        option_of("experiment.final_turns").parse(bad)


@given(st.lists(st.text("abc-1", min_size=1), min_size=1, unique=True))
def test_words_come_as_text_or_as_a_list(names):
    expected = tuple(names)
    assert values.words(", ".join(names)) == values.words(names) == values.words(expected)
    assert values.words(names) == expected


@pytest.mark.parametrize(("given", "cores"), [("0", (0,)), ("1,0", (1, 0)), ([2, 3], (2, 3))])
def test_cores(given, cores):
    assert values.cores(given) == cores


@pytest.mark.parametrize("bad", ["", "a", "0,", "-1", "0,0", "0;1", 3, None])
def test_bad_cores(bad):
    with pytest.raises(ValueError, match="expected numbers of different cores"):
        values.cores(bad)


@pytest.mark.parametrize("bad", ["", "a,", ",", "a,a", ["a", "a"], [], 3, None])
def test_missing_and_repeated_words_are_refused(bad):
    with pytest.raises(ValueError, match=r"names separated by commas, e\.g\. default,etc"):
        values.words(bad)


@pytest.mark.parametrize(
    ("word", "meant"), [("yes", True), (" True ", True), (True, True), ("off", False), ("0", False)]
)
def test_yes_and_no_have_many_words(word, meant):
    assert values.yes_or_no(word) is meant
    with pytest.raises(ValueError, match="expected true or false"):
        values.yes_or_no("maybe")


def test_text_and_paths_are_not_blank():
    assert values.text("main")(" v1 ") == "v1"
    assert values.path("a/b.json") == Path("a/b.json")
    for parse in (values.text("main"), values.path):
        with pytest.raises(ValueError, match="expected"):
            parse("  ")


def test_paths_come_one_by_one_or_as_a_list():
    assert values.paths("a.json") == (Path("a.json"),)
    assert values.paths(["a.json", Path("b.json")]) == (Path("a.json"), Path("b.json"))
