"""What benchmarks give a session are options that there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from pytest_ansorbench.options.declarations import OPTIONS
from tests.pages import REPOSITORY

OF_BENCH = {"tests", "plugin"}


def given(path: Path) -> Iterator[str]:
    """Options by their names, as words and as keywords of `sessions.bench`."""
    text = path.read_text(encoding="utf-8")
    yield from re.findall(r"--ansor-([a-z-]*[a-z])", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "bench":
            keywords = {word.arg for word in node.keywords if word.arg is not None}
            yield from (name.replace("_", "-") for name in keywords - OF_BENCH)


def test_every_option_is_one_of_the_plugin():
    known = {option.usage.split()[0] for option in OPTIONS} | {"bench"}
    paths = sorted((REPOSITORY / "benchmarks").rglob("*.py"))
    found = {(path.name, name) for path in paths for name in given(path)}
    assert ("exported.py", "trials") in found
    assert not [(file, name) for file, name in found if name not in known]
