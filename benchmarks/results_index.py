"""The index of docs/results, out of its manifest.

    python benchmarks/results_index.py [--check]

docs/results/manifest.json has an entry for everything that is kept there: files, what they show,
the commands that wrote them, the page that is about them, the machine and the commit. This writes
docs/results/README.md, and exits with 1 if manifest and folder do not agree. With --check it writes
nothing, and the page has to agree as well.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
RESULTS: Final = ROOT / "docs" / "results"
MANIFEST: Final = RESULTS / "manifest.json"
INDEX: Final = RESULTS / "README.md"
WIDTH: Final = 120
"""Of a row at most, in characters: what fits a screen."""
PROSE_WIDTH: Final = 88
HEAD: Final = """# Results

Written by `python benchmarks/results_index.py` from `manifest.json`. Each file was
measured by the commands below, at the commit beside it or a few before, on a machine
with nothing else to do unless `ansor-bench show FILE -v` warns. A `.json.gz` is a
result of a bench: machine, versions, settings and every trial of every run; `show`
prints its tables again. Results are as they were measured, in today's layout. Those of
superseded versions are in the history of this repository.

"""


@dataclass(frozen=True)
class Entry:
    """What belongs together.

    Attributes:
        files: Names or patterns, relative to docs/results.
        shows: What they show, in a line.
        command: The commands that wrote them, one each.
        page: The page that is about them, from the repository's root.
        machine: What they were measured on; empty if it does not matter or is not recorded.
        commit: The commit that they were measured at, or recorded with.
    """

    files: tuple[str, ...]
    shows: str
    command: tuple[str, ...]
    page: str
    machine: str
    commit: str

    def paths(self) -> list[Path]:
        """The files that are there."""
        return [path for name in self.files for path in RESULTS.glob(name)]


def entries() -> list[Entry]:
    """Those of the manifest."""
    listed = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return [
        Entry(tuple(one.pop("files")), command=tuple(one.pop("command")), **one) for one in listed
    ]


def disagreements(listed: Sequence[Entry]) -> Iterator[str]:
    """What the manifest says and the folder does not, or the other way round."""
    named = {path for entry in listed for path in entry.paths()}
    for path in sorted(RESULTS.rglob("*")):
        if path.is_file() and path not in {*named, MANIFEST, INDEX}:
            yield f"{path.relative_to(ROOT)} is not in the manifest"
    for entry in listed:
        yield from (
            f"{name} is in the manifest and not there"
            for name in entry.files
            if not list(RESULTS.glob(name))
        )
        if not (ROOT / entry.page).is_file():
            yield f"the page of {entry.files[0]}, {entry.page}, is not there"


def index(listed: Sequence[Entry]) -> str:
    """The page: a table, then what each was measured by."""
    rows = ["| files | what they show |", "|---|---|"]
    for entry in listed:
        first, *others = entry.files
        rows += [f"| `{first}` | {entry.shows} |", *(f"| `{name}` | |" for name in others)]
    return HEAD + "\n".join(rows) + "\n\n## Commands\n\n" + "\n".join(map(_measured, listed))


def _measured(entry: Entry) -> str:
    page = Path(entry.page)
    link = f"[{page.stem}]({os.path.relpath(ROOT / page, RESULTS)})"
    where = ", ".join(filter(None, (entry.machine, f"commit {entry.commit}", link)))
    wrapped = textwrap.fill(where, PROSE_WIDTH, break_on_hyphens=False)
    return f"`{entry.files[0]}`:\n{wrapped}\n\n```sh\n{_folded(entry.command)}\n```\n"


def _folded(commands: Sequence[str]) -> str:
    """Commands on lines that fit, none of them broken within quotes."""
    kept = [re.sub(r"'[^']*'", lambda quote: quote[0].replace(" ", "\0"), one) for one in commands]
    folded = "\n".join(
        " \\\n  ".join(
            textwrap.wrap(command, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        )
        for command in kept
    )
    return folded.replace("\0", " ")


def main() -> None:
    """Write the page, or look whether it is as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args()
    listed = entries()
    wrong = [*disagreements(listed)]
    if not given.check:
        INDEX.write_text(index(listed), encoding="utf-8")
    elif INDEX.read_text(encoding="utf-8") != index(listed):
        wrong.append("docs/results/README.md is not what the manifest gives")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
