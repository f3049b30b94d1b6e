"""docs/options.md has the table that the declarations give."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from pytest_ansorbench.options.declarations import OPTIONS
from pytest_ansorbench.options.reference import reference_table

DOCUMENT = Path(__file__).parents[2] / "docs" / "options.md"


def test_the_document_has_exactly_this_table():
    text = DOCUMENT.read_text(encoding="utf-8")
    [table] = re.findall(r"<!-- options: begin -->\n(.*)\n<!-- options: end -->", text, re.DOTALL)
    assert table == reference_table()


def test_the_documented_command_prints_it():
    text = DOCUMENT.read_text(encoding="utf-8")
    [module] = re.findall(r"`python -m ([\w.]+)` prints it", text)
    completed = subprocess.run(
        [sys.executable, "-W", "error", "-m", module], capture_output=True, text=True, timeout=60
    )
    assert completed.stdout == f"{reference_table()}\n", completed.stderr


def test_every_option_is_a_row_with_its_mark_and_default():
    rows = {re.split(r"[`\[ ]", line)[2]: line for line in reference_table().splitlines()[2:]}
    assert list(rows) == [option.flag for option in OPTIONS]
    for option in OPTIONS:
        assert ("•" in rows[option.flag]) == option.per_test, option.flag
    assert "| 30 |" in rows["--ansor-build-timeout"]
    assert "| off |" in rows["--ansor-strict"]
    assert "`--ansor-compare[=NAME\\|NUM\\|PATH]`" in rows["--ansor-compare"]


def test_ini_twins_and_keywords_are_named_as_the_document_says():
    for option in OPTIONS:
        assert option.ini == option.flag.removeprefix("--").replace("-", "_")
        assert option.keyword == option.ini.removeprefix("ansor_")
