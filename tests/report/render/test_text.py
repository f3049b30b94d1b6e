"""Text that came from a file, made harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.report.render.text import markdown_words, printable


@given(st.text())
def test_printable_text_is_one_line_without_control_characters(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_text_without_any_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("S <= 0.33", "S <= 0.33"),
        ("<img src=x>", "&lt;img src=x>"),
        ("</b><!-- <?", "&lt;/b>&lt;!-- &lt;?"),
        ("a\nb\x07", "a b?"),
        ("$(id) `id` *", r"\$(id) \`id\` \*"),
        ("0.50 [0.25, 1.00]", "0.50 [0.25, 1.00]"),
        ("[x](http://y) [1](2)", r"[x\](http://y) [1\](2)"),
        ("[^x]: a ~~~b", r"\[^x]: a \~\~\~b"),
        ("@you @ &#64;you", "@&#8203;you @ &amp;#64;you"),
        ("a_b __c__", r"a_b \_\_c\_\_"),
        ("a & b &lt;", "a & b &amp;lt;"),
    ],
)
def test_markdown_words_hold_no_mark(text: str, shown: str) -> None:
    assert markdown_words(text) == shown
