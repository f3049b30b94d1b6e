"""The Markdown pages, README and docs, and the code in them.

As a script it writes the README's first example to a file, for a test of the built wheel:

    python tests/pages.py test_matmul.py
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    """The text of a page, by its path from the repository's root."""
    return (REPOSITORY / name).read_text(encoding="utf-8")


def pages() -> list[str]:
    """All pages that people read, by their paths from the repository's root."""
    paths = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    return [path.relative_to(REPOSITORY).as_posix() for path in paths]


def blocks(text: str, language: str = "") -> list[str]:
    """The fenced blocks of a language in a page, without the indentation of a list."""
    return [textwrap.dedent(code) for _, found, code in _FENCED.findall(text) if found == language]


def commands(text: str) -> list[str]:
    """The commands of a page's shell blocks, each as one line, comments left out."""
    joined = [re.sub(r"\\\n *", "", block) for block in blocks(text, "sh")]
    lines = [line for block in joined for line in block.splitlines()]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def prose(text: str) -> list[str]:
    """The lines of a page that are no code and no table."""
    kept = []
    for line in _FENCED.sub("", text).splitlines():
        if not line.startswith(("|", "    ", "!")):
            kept.append(line)
    return kept


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(blocks(page("README.md"), "python")[0], encoding="utf-8")
