"""Who may import what; the layers hold because this test does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_ansorbench

PACKAGE = Path(pytest_ansorbench.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MAY_IMPORT_PYTEST = {"plugin", "options", "hookspecs.py"}

#: Each layer imports from the ones before it, and from itself.
LAYERS = [
    {"records", "workloads", "budget", "environment", "tvm_versions"},
    {"codec", "packed", "stats", "measure"},
    {"strategies", "storage", "yardsticks"},
    {"search"},
    {"bench", "hosted", "kernels", "lasting_builder", "metaschedule", "training", "winners"},
    {"cluster"},
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


@pytest.mark.parametrize(
    "part", ["codec.py", *(f"records/{path.name}" for path in (PACKAGE / "records").glob("*.py"))]
)
def test_records_need_the_standard_library_only(part):
    foreign = roots(imports(PACKAGE / part, at_import_time=False)) - sys.stdlib_module_names
    assert foreign <= {"pytest_ansorbench"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").glob("*.py")), ids=lambda p: p.name)
def test_statistics_need_numpy_and_records_only(path):
    names = imports(path, at_import_time=False)
    assert roots(names) - sys.stdlib_module_names <= {"numpy", "pytest_ansorbench"}
    ours = {name for name in names if name.startswith("pytest_ansorbench")}
    assert all(name.split(".")[1] in {"records", "stats"} for name in ours)


#: Git has options as well, and this module is where it is called.
CALLS_GIT = PACKAGE / "storage" / "commit.py"


def docstrings(tree: ast.AST) -> Iterator[ast.expr]:
    """Strings that stand alone: docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_options_are_named_where_they_belong_only(path):
    """Layers below the plugin and the command raise facts, never advice to give a flag."""
    if path.relative_to(PACKAGE).parts[0] in ("plugin", "cli", "options") or path == CALLS_GIT:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    free = set(map(id, docstrings(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in free:
            # A style sheet's variables are no options.
            text = re.sub(r"var\(--\w+", "", node.value)
            named = re.search(r"--ansor|(^|[\s('\"`])--[a-z]", text)
            assert not named, f"{path}:{node.lineno}: {node.value!r}"


REPORT = PACKAGE / "report"
#: What is shown while a bench runs.
LIVE = {REPORT / "progress.py", REPORT / "live_table.py"}
RENDERERS = [*sorted((REPORT / "render").glob("*.py")), *sorted(LIVE)]
#: `__init__` is the facade of both.
BUILDERS = sorted(set(REPORT.glob("*.py")) - {REPORT / "__init__.py", *LIVE})


def own(path: Path) -> set[str]:
    """Modules of this package that a file imports."""
    names = imports(path, at_import_time=False)
    return {name.removeprefix("pytest_ansorbench.") for name in names if "ansorbench." in name}


@pytest.mark.parametrize("part", ["cells", "sections"])
def test_parts_of_a_report_are_records(part):
    assert own(REPORT / f"{part}.py") <= {"records", "report.cells"}
    foreign = roots(imports(REPORT / f"{part}.py", at_import_time=False)) - sys.stdlib_module_names
    assert foreign <= {"pytest_ansorbench"}


@pytest.mark.parametrize("path", RENDERERS, ids=lambda path: path.name)
def test_renderers_read_cells_and_sections_only(path):
    allowed = {"records", "report.cells", "report.sections", "report.progress", "bench.progress"}
    assert {name for name in own(path) if not name.startswith("report.render")} <= allowed
    assert not own(path) & {"bench.progress", "report.progress"} or path in LIVE


@pytest.mark.parametrize("path", BUILDERS, ids=lambda path: path.name)
def test_builders_of_reports_write_no_text(path):
    assert not any(name.startswith("report.render") for name in own(path))
    assert not roots(imports(path, at_import_time=False)) & {"tabulate", "json", "string"}
    assert formatted(path) == []


def formatted(path: Path) -> list[int]:
    """Lines that put values into text; errors are not part of a report and may."""
    found = []
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Raise):
            continue
        if (
            isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.BinOp) and is_text(node.left) and isinstance(node.op, ast.Mod))
            or (isinstance(node, ast.Call) and is_formatting(node.func))
        ):
            found.append(node.lineno)
            continue
        nodes += ast.iter_child_nodes(node)
    return found


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_formatting(function: ast.AST) -> bool:
    if isinstance(function, ast.Name):
        return function.id in {"str", "format"}
    return isinstance(function, ast.Attribute) and function.attr in {"format", "format_map"}


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("text = f'{x:.2f}'", [1]),
        ("text = f'{x}'", [1]),
        ("text = '%.2f' % x", [1]),
        ("text = '{:g}'.format(x)\nother = format(x, 'g')", [1, 2]),
        ("text = str(x)", [1]),
        ("if x:\n    raise ValueError(f'bad x {x:g}')", []),
        ("rest = x % 2", []),
    ],
)
def test_formatting_is_found(code, lines, tmp_path):
    (tmp_path / "code.py").write_text(code)
    assert sorted(formatted(tmp_path / "code.py")) == lines


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


def ours(path: Path) -> set[str]:
    """Modules of the package that a file imports, whenever it does."""
    return {name for name in imports(path, at_import_time=False) if name.startswith(NAME)}


NAME = "pytest_ansorbench."


def test_only_who_makes_an_engine_names_the_local_one():
    local = {f"{NAME}measure.local.engine", f"{NAME}measure.local.toolchains"}
    makers = {path for path in MODULES if local & ours(path)}
    assert {str(path.relative_to(PACKAGE)) for path in makers} == {
        "cli/kernels.py",
        "cluster/work.py",
        "hosted/main.py",
        "measure/local/toolchains.py",
        "plugin/kernels.py",
        "plugin/sources.py",
        "training/train.py",
    }


def test_searches_and_experiments_know_the_protocol_of_an_engine_only():
    known = {"engine", "outcomes", "policy", "program", "side_by_side", "untuned", "arguments"}
    known |= {"noise"}
    for path in [*(PACKAGE / "search").glob("*.py"), *(PACKAGE / "bench").glob("*.py")]:
        measure = {name.split(".")[2] for name in ours(path) if name.startswith(f"{NAME}measure.")}
        assert measure <= known, path


def test_a_repeat_knows_no_journal_no_progress_and_no_session():
    seen: set[str] = set()
    left = [PACKAGE / "bench" / "repeat.py"]
    while left:
        for name in ours(left.pop()):
            path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
            if name.startswith((f"{NAME}bench.", f"{NAME}storage.")) and name not in seen:
                seen.add(name)
                left.append(path)
    assert f"{NAME}storage.entries" in seen
    forbidden = {"journal", "history", "progress", "session", "experiment"}
    assert not {name.split(".")[-1] for name in seen} & forbidden


def test_program_making_knows_no_population():
    maker = PACKAGE / "strategies" / "program_maker.py"
    assert ours(maker) == {f"{NAME}strategies.candidate"}


@pytest.mark.parametrize(
    "module",
    ["plugin", "options", "budget", "measure.settings", "stats.criteria", "stats.limits"],
)
def test_options_and_plugin_import_neither_numpy_nor_tvm(module):
    code = (
        f"import sys, pytest_ansorbench.{module}; "
        "print(sorted({'numpy', 'tvm', 'tabulate', 'xgboost'} & set(sys.modules)))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.stdout.strip() == "[]", completed.stderr
