"""Choosing columns and sort keys."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.report.columns import COLUMNS, ColumnError, parse_columns
from pytest_ansorbench.report.table import DEFAULT_SORT, SORT_KEYS, parse_sort


@given(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, unique=True))
def test_parsing_undoes_joining(keys: list[str]) -> None:
    assert parse_columns(",".join(keys)) == parse_columns(" , ".join(keys)) == tuple(keys)


def test_an_unknown_column_shows_the_choice() -> None:
    with pytest.raises(ColumnError) as caught:
        parse_columns("case,foo")
    keys = ", ".join(COLUMNS)
    example = "e.g. 'case,strategy,search_ratio'"
    assert str(caught.value) == f"bad column 'foo': expected some of {keys}, {example}"


@pytest.mark.parametrize("text", ["", ",", "case,", "case,,strategy", "Case"])
def test_columns_that_are_none(text: str) -> None:
    with pytest.raises(ColumnError, match="bad column"):
        parse_columns(text)


def test_a_column_is_shown_once() -> None:
    with pytest.raises(ColumnError, match="bad column 'case': expected each column once"):
        parse_columns("case,strategy,case")


def test_sort_keys() -> None:
    assert parse_sort(" search_ratio ") == "search_ratio"
    assert DEFAULT_SORT in SORT_KEYS


@pytest.mark.parametrize("text", ["", "foo", "case,verdict"])
def test_a_bad_sort_key_shows_the_choice(text: str) -> None:
    with pytest.raises(ColumnError, match=f"bad sort key {re.escape(repr(text))}: .* order, case"):
        parse_sort(text)
