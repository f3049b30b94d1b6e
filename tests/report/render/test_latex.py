"""Reports in LaTeX."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.report.render.latex import escaped
from pytest_ansorbench.report.sections import Code, Lines
from tests.report.render.test_terminal import TABLE
from tests.report.rendered import rendered


def test_a_table_has_the_rules_of_booktabs_and_one_above_a_summary() -> None:
    assert rendered(TABLE, "latex").split("\n") == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r" case   &   trials \\",
        r"\midrule",
        r" a      &        8 \\",
        r" b      &       16 \\",
        r"\midrule",
        r" all    &      n/a \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_words_and_cells_are_escaped() -> None:
    sentence = "S_trials <= 10% of \\x{y}"
    expected = r"S\_trials \textless{}= 10\% of \textbackslash{}x\{y\}"
    assert rendered(Lines((sentence,)), "latex") == expected


def test_no_signs_become_another() -> None:
    sentence = "pytest --ansor-x 'a' `b`, ---, ,,"
    assert rendered(Lines((sentence,)), "latex") == (
        r"pytest -{}-ansor-x \textquotesingle{}a\textquotesingle{} "
        r"\textasciigrave{}b\textasciigrave{}, -{}-{}-, ,{},"
    )


def test_code_cannot_end_its_listing() -> None:
    text = rendered(Code("x", "\\end{verbatim}"), "latex")
    assert text.count("\\end{verbatim}") == 1


@given(st.text())
def test_no_text_is_a_command(text: str) -> None:
    words = re.sub(r"\\text[a-z]+\{\}|\\[{}#$%&_]|\{[\[*]\}|(?<=[-,])\{\}", "", escaped(text))
    assert not set(words) & set("\\{}#$%&_^~<>|\"'`[*")
    assert not re.search("--|,,", escaped(text))
