"""`benchmarks/count_lines.py` on a package of two modules."""

from __future__ import annotations

MODULE = '''"""Two lines of
docstring."""

# A comment.
NAMES = [
    "one",
]


def name():
    """A line of its own."""
    return """text,
    no docstring"""
'''


def test_blanks_comments_and_docstrings_are_no_code(import_script, tmp_path):
    count_lines = import_script("count_lines")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "module.py").write_text(MODULE)
    (tmp_path / "empty.py").touch()
    assert count_lines.count_packages(tmp_path) == {
        "inner": count_lines.Count(lines=13, code=6, docstrings=3, modules=1),
        ".": count_lines.Count(modules=1),
    }
