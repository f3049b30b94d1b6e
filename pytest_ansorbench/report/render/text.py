"""Text that came from a file, made harmless where it is shown."""

from __future__ import annotations

import re


def printable(text: str) -> str:
    """One line without control characters: ids come from files, and a terminal obeys them."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def markdown_cell(text: str) -> str:
    """A cell of a Markdown table, which a bar would split."""
    return printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def markdown_words(text: str) -> str:
    """Words of a Markdown paragraph, in which a tag would be taken for HTML."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", printable(text))
