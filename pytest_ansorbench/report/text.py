"""Text that came from a file, made safe to show."""

from __future__ import annotations


def printable(text: str) -> str:
    """One line without control characters: ids come from files, and a terminal obeys them."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def markdown_cell(text: str) -> str:
    """A cell of a Markdown table, which a bar would split."""
    return printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
