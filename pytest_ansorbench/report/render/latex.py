"""A report in LaTeX, its tables ready for a paper."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.text import (
    code_lines,
    named_sections,
    printable,
    table_text,
    written,
)
from pytest_ansorbench.report.sections import Block, Code, Lines, Report, Table

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # After the end of a row, these two would be its optional argument and its star.
    "[": "{[}",
    "*": "{*}",
    **{sign: f"\\{sign}" for sign in "#$%&_"},
}
# Of two hyphens or commas fonts make one sign, which braces between them prevent.
_SPECIALS: Final = re.compile("[" + re.escape("".join(_SPECIAL)) + r"]|([-,])(?=\1)")


@dataclass(frozen=True, slots=True)
class Latex:
    r"""Renders tables as `tabular` with the rules of `booktabs`, and sentences as paragraphs.

    A document takes it by `\input`, after `\usepackage{booktabs}` and, for the quotation marks,
    `\usepackage[T1]{fontenc}` and, before LaTeX of 2020, `\usepackage{textcomp}`.
    """

    def render(self, report: Report) -> str:
        return "\n\n".join(
            "\n\n".join(map(self._block, section.blocks)) for section in named_sections(report)
        )

    def _block(self, block: Block) -> str:
        match block:
            case Lines(sentences):
                return "\n\n".join(escaped(str(one)) for one in sentences)
            case Table():
                return _table(block)
            case Code(title, text):
                lines = "\n".join(_verbatim(line) for line in code_lines(text, 0))
                return f"{escaped(title)}\n\n\\begin{{verbatim}}\n{lines}\n\\end{{verbatim}}"
            case _:
                return "\n\n".join(map(self._block, chart_blocks(block)))


def escaped(text: str) -> str:
    """Text in which nothing is a command or becomes another sign."""
    return _SPECIALS.sub(lambda found: _SPECIAL.get(found[0], f"{found[0]}{{}}"), printable(text))


def _verbatim(line: str) -> str:
    """A line of verbatim text, which nothing but its end can end."""
    return line.replace("\\end{verbatim}", "\\end {verbatim}")


def _table(table: Table) -> str:
    """A table; a rule above what sums up."""
    lines = table_text(replace(table, depth=0), "latex_raw", written(escaped)).split("\n")
    begin, _, headings, _, *body = lines[:-2]
    ruled = [begin, r"\toprule", headings]
    at = 0
    for group in table.groups:
        if not at or group.role == "summary":
            ruled.append(r"\midrule")
        ruled += body[at : at + len(group.rows)]
        at += len(group.rows)
    return "\n".join([*ruled, r"\bottomrule", r"\end{tabular}"])
