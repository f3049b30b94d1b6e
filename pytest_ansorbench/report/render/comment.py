"""A report as a comment on a pull request: Markdown that fits, the worst first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_ansorbench.report.cells import Cell, GateMark
from pytest_ansorbench.report.render.markdown import Markdown
from pytest_ansorbench.report.sections import (
    Block,
    GateSentence,
    Group,
    Lines,
    Report,
    Section,
    Sentence,
    Table,
)

MARK: Final = "<!-- ansor-bench -->"
"""What a comment begins with and is found by, to be written anew; a reader does not see it."""
_MOST: Final = 65_000
"""GitHub takes 65,536 characters: there is room left for a link."""
_LONGEST: Final = 1_000
"""Characters of a sentence, some of which name hundreds of cases."""
_RANKS: Final = {"broken": 1, "undecided": 2}
_OPENING, _WARNING, _REST, _OF_A_CASE = 0, 2, 3, 4

_Place = tuple[int, int, int, int]
"""Of a sentence, a row or another block: section, block, group, and place in that."""


@dataclass(frozen=True, slots=True)
class Comment:
    """Renders Markdown of 65,000 bytes at most, after a mark to find it by."""

    def render(self, report: Report) -> str:
        if not report.sections:
            return ""
        head = f"{MARK}\n\n"
        return head + fitted(report, _MOST - len(head))


def fitted(report: Report, size: int) -> str:
    """A report in Markdown of so many bytes at most; empty if there is no room for anything.

    If it is longer, what is worst is kept, and comes first in its table: what opens the report,
    then broken gates, undecided ones and warnings, the rest, and details of single cases. The last
    line says how much is left out.
    """
    whole = Markdown().render(report)
    if _bytes(whole) <= size:
        return whole
    report = _with_short_sentences(report)
    ranks = dict(_ranks(report))
    order = sorted(ranks, key=lambda place: (ranks[place], place))
    text, fits, too_many = "", 0, len(order) + 1
    while too_many - fits > 1:
        count = (fits + too_many) // 2
        tried = _with_note(report, order[:count], ranks)
        if _bytes(tried) <= size:
            text, fits = tried, count
        else:
            too_many = count
    return text


def _ranks(report: Report) -> Iterator[tuple[_Place, int]]:
    """Every piece of a report, and how early it has to come; 0 is first."""
    for s, section in enumerate(report.sections):
        for b, block in enumerate(section.blocks):
            match block:
                case Lines(sentences, tone=tone):
                    for at, sentence in enumerate(sentences):
                        opens = s == 0 and (at == 0 or isinstance(sentence, str))
                        told = _WARNING if tone == "warning" else _rank([sentence])
                        rank = _OPENING if opens else told
                        yield (s, b, 0, at), _OF_A_CASE if section.subject else rank
                case Table():
                    for g, group in enumerate(block.groups):
                        worst: dict[str, int] = {}
                        for row in group.rows:
                            case = _case(block, row)
                            worst[case] = min(_rank(row), worst.get(case, _REST))
                        for at, row in enumerate(group.rows):
                            opens = group.role == "summary"
                            rank = _OPENING if opens else worst[_case(block, row)]
                            yield (s, b, g, at), _OF_A_CASE if section.subject else rank
                case _:
                    yield (s, b, 0, 0), _OF_A_CASE if section.subject else _REST


def _rank(parts: Iterable[Cell | Sentence]) -> int:
    """The worst outcome of some cells or sentences."""
    outcomes = (part.outcome for part in parts if isinstance(part, GateMark | GateSentence))
    return min((_RANKS.get(outcome, _REST) for outcome in outcomes), default=_REST)


def _case(table: Table, row: Sequence[Cell]) -> str:
    """The case that a row is of; empty where a table does not tell."""
    cells = (cell for column, cell in zip(table.columns, row, strict=True) if column.key == "case")
    return next(map(str, cells), "")


def _with_note(report: Report, kept: Sequence[_Place], ranks: Mapping[_Place, int]) -> str:
    """What is kept of a report, and a line on what is not."""
    there = frozenset(kept)
    shortened = Report.of(
        *(
            replace(
                section,
                blocks=tuple(
                    short
                    for b, block in enumerate(section.blocks)
                    if (short := _shortened(block, (s, b), there, ranks)) is not None
                ),
            )
            for s, section in enumerate(report.sections)
        )
    )
    left_out = ranks.keys() - there
    if not left_out:
        return Markdown().render(shortened)
    note = Section("left out", (Lines((_left_out(report, left_out),)),))
    return Markdown().render(Report.of(*shortened.sections, note))


def _shortened(
    block: Block, place: tuple[int, int], kept: Collection[_Place], ranks: Mapping[_Place, int]
) -> Block | None:
    """What is kept of a block, the worst rows first; None for nothing."""
    match block:
        case Lines(sentences):
            left = tuple(one for at, one in enumerate(sentences) if (*place, 0, at) in kept)
            return replace(block, sentences=left)
        case Table():
            groups = []
            for g, group in enumerate(block.groups):
                places = sorted(
                    (ranks[one], one)
                    for at in range(len(group.rows))
                    if (one := (*place, g, at)) in kept
                )
                rows = tuple(group.rows[at] for _, (*_, at) in places)
                if rows:
                    groups.append((group.role, places[0], Group(rows, group.role)))
            groups.sort(key=lambda group: group[:2])  # a summary after all bodies
            return replace(block, groups=tuple(group for *_, group in groups))
        case _:
            return block if (*place, 0, 0) in kept else None


def _left_out(report: Report, places: Collection[_Place]) -> str:
    """How much is left out, by what it is."""
    cases, counts = set[str](), {"sentences": 0, "rows": 0, "other parts": 0}
    for s, b, g, at in places:
        block = report.sections[s].blocks[b]
        match block:
            case Lines():
                counts["sentences"] += 1
            case Table():
                case = _case(block, block.groups[g].rows[at])
                cases |= {case} if case else set()
                counts["rows"] += not case
            case _:
                counts["other parts"] += 1
    told = {"cases of the table": len(cases), **counts}
    words = ", ".join(f"{count} {what}" for what, count in told.items() if count)
    return f"left out for want of room: {words}; see the whole report"


def _with_short_sentences(report: Report) -> Report:
    def short(block: Block) -> Block:
        if isinstance(block, Lines):
            return replace(block, sentences=tuple(map(_short, block.sentences)))
        return block

    return Report(
        tuple(replace(one, blocks=tuple(map(short, one.blocks))) for one in report.sections)
    )


def _short(sentence: Sentence) -> Sentence:
    """A sentence that is too long, cut at a space."""
    if isinstance(sentence, GateSentence):
        return replace(sentence, before=_cut(sentence.before), after=_cut(sentence.after))
    return _cut(sentence)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rpartition(' ')[0]} ..."


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
