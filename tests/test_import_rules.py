"""Who may import what; the layers hold because this test does."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_ansorbench

PACKAGE = Path(pytest_ansorbench.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAY_IMPORT_PYTEST = {"plugin", "options", "hookspecs.py"}

#: Each layer imports from the ones before it, and from itself.
LAYERS = [
    {"records", "workloads", "budget"},
    {"codec", "stats", "measure"},
    {"strategies", "storage"},
    {"search", "environment"},
    {"bench", "metaschedule", "training"},
    {"report"},
    {"options", "hookspecs"},
    {"plugin", "cli"},
]


def imports(path: Path, *, at_import_time: bool) -> set[str]:
    """Modules that a file imports: all of them, or only those that importing it imports."""
    found = set()
    nodes = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            found.add(str(node.module))
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        if not (lazy and at_import_time):
            nodes += ast.iter_child_nodes(node)
    return found


def roots(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_tvm_is_never_imported_with_a_module(path):
    assert not roots(imports(path, at_import_time=True)) & {"tvm", "tvm_ffi", "xgboost"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_pytest_is_imported_by_the_plugins_own_modules_only(path):
    imported = roots(imports(path, at_import_time=False))
    top = path.relative_to(PACKAGE).parts[0]
    assert ("pytest" not in imported) or top in MAY_IMPORT_PYTEST


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_imports_the_plugin(path):
    if path != PACKAGE / "__init__.py" and path.parent.name != "plugin":
        names = imports(path, at_import_time=False)
        assert not any(name.startswith("pytest_ansorbench.plugin") for name in names)


@pytest.mark.parametrize("part", ["records.py", "codec.py"])
def test_records_need_the_standard_library_only(part):
    foreign = roots(imports(PACKAGE / part, at_import_time=False)) - sys.stdlib_module_names
    assert foreign <= {"pytest_ansorbench"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").glob("*.py")), ids=lambda p: p.name)
def test_statistics_need_numpy_and_records_only(path):
    names = imports(path, at_import_time=False)
    assert roots(names) - sys.stdlib_module_names <= {"numpy", "pytest_ansorbench"}
    ours = {name for name in names if name.startswith("pytest_ansorbench")}
    assert all(name.split(".")[1] in {"records", "stats"} for name in ours)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_data_flows_one_way(path):
    def layer(module: str) -> int:
        return next(number for number, names in enumerate(LAYERS) if module in names)

    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        return
    for name in imports(path, at_import_time=False):
        package, _, rest = name.partition(".")
        if package == "pytest_ansorbench" and rest:
            other = rest.split(".")[0]
            assert other == parts[0] or layer(other) <= layer(parts[0]), name


def test_program_making_knows_no_population():
    names = imports(PACKAGE / "strategies" / "program_maker.py", at_import_time=False)
    ours = {name for name in names if name.startswith("pytest_ansorbench")}
    assert ours == {"pytest_ansorbench.strategies.candidate"}


def test_the_plugin_alone_imports_neither_numpy_nor_tvm():
    code = (
        "import sys, pytest_ansorbench.plugin; "
        "print(sorted({'numpy', 'tvm', 'tabulate', 'xgboost'} & set(sys.modules)))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.stdout.strip() == "[]", completed.stderr
