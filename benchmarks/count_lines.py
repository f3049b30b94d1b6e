"""Lines, lines of code and modules of each package below a folder.

Code is what is left without blank lines, comments and docstrings, those below a constant or a
field included.

    python benchmarks/count_lines.py [FOLDER]
"""

from __future__ import annotations

import argparse
import ast
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Count:
    """Sizes that add up."""

    lines: int = 0
    code: int = 0
    docstrings: int = 0
    modules: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.lines + other.lines,
            self.code + other.code,
            self.docstrings + other.docstrings,
            self.modules + other.modules,
        )


def count_module(path: Path) -> Count:
    text = path.read_text(encoding="utf-8")
    docstrings = {line for span in _docstrings(ast.parse(text)) for line in span}
    with tokenize.open(path) as file:
        tokens = [t for t in tokenize.generate_tokens(file.readline) if t.type not in _NO_CODE]
    code = {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}
    return Count(len(text.splitlines()), len(code - docstrings), len(docstrings), 1)


def _docstrings(tree: ast.Module) -> Iterator[range]:
    """Lines of strings that stand alone: of modules, classes and functions, and below a name."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(last)):
                yield range(node.lineno, last + 1)


def count_packages(folder: Path) -> dict[str, Count]:
    """Counts by the first folder of a module's path; `.` for modules beside the packages."""
    counts: dict[str, Count] = defaultdict(Count)
    for path in sorted(folder.rglob("*.py")):
        first, *deeper = path.relative_to(folder).parts
        counts[first if deeper else "."] += count_module(path)
    return dict(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("pytest_ansorbench"))
    counts = count_packages(parser.parse_args().folder)
    counts["all"] = sum(counts.values(), Count())
    rows = sorted(counts.items(), key=lambda row: row[1].lines)
    table = [[name, c.lines, c.code, c.docstrings, c.modules] for name, c in rows]
    print(tabulate(table, ("package", "lines", "code", "docstrings", "modules")))


if __name__ == "__main__":
    main()
