"""Ids of any characters, in every format, on a terminal that shows ASCII alone."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from contextlib import redirect_stdout
from itertools import groupby

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.storage import save_numbered, write_result
from tests.saved_cases import Saved, result_of
from tests.synthetic import make_case_result, make_result, make_run, named

pytestmark = pytest.mark.usefixtures("judging_once")

IDS = [
    "StatefulPartitionedCall/serving_default:0",
    "a,b",
    "über-größe-β",
    "卷积层",
    "left|right",
    "[bracket](http://x)",
    "two\nlines",
    "  spaces  ",
    "=1+1",
    " @SUM(A1)",
    "<b>bold</b>",
    "x#2",
    "a" * 300,
    "$(id) `id` *",
    "../../up",
    "\x1b[31mred",
    "\\end{tabular}",
]

UNDECIDED = 3


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd") / "result.json"
    # Two seeds, of which no gate is decided.
    runs = {
        name: [make_run(strategy=name, seed=seed, final=1.0) for seed in range(2)]
        for name in ("default", "fast")
    }
    one = make_case_result(reference=runs.pop("default"), challengers=runs)
    write_result(make_result(*(named(one, name) for name in IDS)), path)
    return str(path)


@functools.cache
def on_an_ascii_terminal(*words: str) -> bytes:
    """What a command writes there; its tests share it."""
    raw = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(raw, encoding="ascii")) as out:
        assert main([*words]) in (0, UNDECIDED)
        out.flush()
        return raw.getvalue()


def test_a_terminal_shows_numbers_for_what_it_cannot(path):
    text = on_an_ascii_terminal("show", path).decode("ascii")
    assert "\\xfcber-gr\\xf6\\xdfe-\\u03b2" in text
    assert "\\u5377\\u79ef\\u5c42" in text
    assert "?[31mred" in text and "\x1b" not in text
    assert "two lines" in text


def test_what_is_a_file_elsewhere_is_the_same_there(path, tmp_path, capsys):
    formats = ("markdown", "csv", "html", "latex", "json")
    files = [f"--format={name}:{tmp_path / name}" for name in formats]
    assert main(["show", path, *files]) == UNDECIDED
    for name in formats:
        written = on_an_ascii_terminal("show", path, "--format", name)
        assert written == (tmp_path / name).read_bytes()


def shown(path: str, format_: str) -> str:
    return on_an_ascii_terminal("show", path, "--format", format_).decode("utf-8")


def test_markdown_keeps_its_columns_and_shows_ids_as_they_are(path):
    text = shown(path, "markdown")
    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        assert not is_table or len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    for cell in (r"left\|right", r"\$(id) \`id\` \*", "&lt;b>bold", r"[bracket\](http://x)"):
        assert cell in text


def test_csv_has_every_id_and_no_formula(path):
    rows = [*csv.reader(io.StringIO(shown(path, "csv")))]
    cells = {cell for row in rows for cell in row}
    assert {"a,b", "über-größe-β", "'=1+1", "' @SUM(A1)", "left|right"} <= cells
    for name in IDS:
        assert printable(name) in cells or f"'{printable(name)}" in cells
    assert not [cell for cell in cells if re.match(r"\s*[=+@]", cell)]


def test_html_latex_and_json_hold_no_markup_of_ids(path):
    page = shown(path, "html")
    assert "&lt;b&gt;bold" in page and "<b>bold" not in page
    latex = shown(path, "latex")
    assert r"left\textbar{}right" in latex
    assert latex.count(r"\end{tabular}") == latex.count(r"\begin{tabular}")
    assert "卷积层" in json.dumps(json.loads(shown(path, "json")), ensure_ascii=False)


def test_other_commands_take_them_too(path, tmp_path, capsys):
    storage = tmp_path / "stored"
    for _ in range(2):
        save_numbered(result_of([Saved("über\x1b"), Saved("=x|")]), storage, "größe/β")
    for words in (["list"], ["history"], ["compare", "1", "größe/β"]):
        written = on_an_ascii_terminal(*words, "--storage", str(storage))
        assert b"\\xf6" in written or b"\\xfc" in written
        assert b"\x1b" not in written
    assert main(["plot", "curve", path, "--case", "\x1bred\n", "-o", "x.svg"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.rstrip("\n").isprintable()
