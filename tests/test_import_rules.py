"""Who may import what; the layers hold because this test does."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest_ansorbench

PACKAGE = Path(pytest_ansorbench.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
NAME = "pytest_ansorbench."
MAY_IMPORT_PYTEST = {"plugin", "options", "hookspecs"}
WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}

#: Each layer imports from the ones before it, and from itself.
LAYERS = [
    {"arrays", "records", "workloads", "budget", "causes", "cores", "cuda", "environment"}
    | {"tvm_versions"},
    {"codec", "packed", "stats", "measure", "travel"},
    {"strategies", "storage", "yardsticks"},
    {"search"},
    {"bench", "hosted", "kernels", "landscapes", "lasting_builder", "metaschedule"}
    | {"training", "winners"},
    {"cluster"},
    {"report"},
    {"options", "hookspecs"},
    {"sessions"},
    {"tuning"},
    {"plugin", "cli"},
]


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports(path: Path, *, at_import_time: bool = False) -> frozenset[str]:
    """Modules that a file imports: all of them, or only those that importing it imports."""
    found = set()
    nodes: list[ast.AST] = [tree(path)]
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
    return frozenset(found)


def roots(names: Iterable[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def part(path: Path) -> str:
    """The package, or the module beside the packages, that a file is of."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def ours(path: Path) -> set[str]:
    """Modules of the package that a file imports, whenever it does, without the package's name."""
    return {name.removeprefix(NAME) for name in imports(path) if name.startswith(NAME)}


def foreign(path: Path) -> set[str]:
    """Packages that a file imports and that are neither this one nor the standard library's."""
    return roots(imports(path)) - sys.stdlib_module_names - {"pytest_ansorbench"}


def those(paths: Iterable[Path], breaks: Callable[[Path], object]) -> dict[str, object]:
    """The files that break a rule, by what they break it with."""
    found = {str(path.relative_to(PACKAGE)): breaks(path) for path in paths}
    assert found
    return {name: broken for name, broken in found.items() if broken}


def test_tvm_is_never_imported_with_a_module():
    heavy = {"tvm", "tvm_ffi", "xgboost"}
    assert not those(MODULES, lambda path: roots(imports(path, at_import_time=True)) & heavy)


def test_pytest_is_imported_by_the_plugins_own_modules_only():
    others = [path for path in MODULES if part(path) not in MAY_IMPORT_PYTEST]
    assert not those(others, lambda path: roots(imports(path)) & {"pytest"})


def test_nothing_imports_the_plugin():
    others = [path for path in MODULES if part(path) not in {"plugin", "__init__"}]
    assert not those(others, lambda path: roots(ours(path)) & {"plugin"})


def test_records_need_the_standard_library_only():
    assert not those([PACKAGE / "codec.py", *(PACKAGE / "records").glob("*.py")], foreign)


def test_statistics_need_numpy_scipy_and_records_only():
    modules = [*(PACKAGE / "stats").glob("*.py")]
    assert not those(modules, lambda path: foreign(path) - {"numpy", "scipy"})
    assert not those(modules, lambda path: roots(ours(path)) - {"records", "stats"})


#: Git has options as well, and this module is where it is called.
CALLS_GIT = PACKAGE / "storage" / "commit.py"


def docstrings(module: ast.Module) -> Iterator[ast.expr]:
    """Strings that stand alone: docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def named_options(path: Path) -> list[str]:
    module = tree(path)
    free = set(map(id, docstrings(module)))
    # A style sheet's variables are no options.
    texts = [
        re.sub(r"var\(--\w+", "", node.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in free
    ]
    return [text for text in texts if re.search(r"--ansor|(^|[\s('\"`])--[a-z]", text)]


def test_options_are_named_where_they_belong_only():
    """Layers below the plugin and the command raise facts, never advice to give a flag."""
    below = [path for path in MODULES if part(path) not in {"plugin", "cli", "options"}]
    below.remove(CALLS_GIT)
    assert not those(below, named_options)


REPORT = PACKAGE / "report"
#: What is shown while a bench runs.
LIVE = {REPORT / "progress.py"}
#: Where what is rendered is written.
WRITES = REPORT / "render" / "outputs.py"
RENDERERS = [*sorted((REPORT / "render").glob("*.py")), *sorted(LIVE)]
BUILDERS = sorted(set(REPORT.glob("*.py")) - LIVE)


def test_parts_of_a_report_are_records():
    modules = [REPORT / f"{name}.py" for name in ("wording", "cells", "sections")]
    assert not those(modules, foreign)
    below = {"records", "report.wording", "report.cells"}
    assert not those(modules, lambda path: ours(path) - below)


def test_renderers_read_cells_and_sections_only():
    allowed = {"records", "report.cells", "report.sections"}
    live = {*allowed, "bench.progress"}

    def others(path: Path) -> set[str]:
        names = {name for name in ours(path) if not name.startswith("report.render")}
        names -= {"storage.files"} if path == WRITES else set()
        return names - (live if path in LIVE else allowed)

    assert not those(RENDERERS, others)


def test_builders_of_reports_know_no_format():
    assert not those(
        BUILDERS, lambda path: [n for n in ours(path) if n.startswith("report.render")]
    )
    assert not those(
        BUILDERS, lambda path: roots(imports(path, at_import_time=True)) & {"tabulate"}
    )


def test_data_flows_one_way():
    layers = {name: number for number, names in enumerate(LAYERS) for name in names}

    def upwards(path: Path) -> set[str]:
        own = part(path)
        others = {name for name in ours(path) if name.split(".")[0] != own}
        return {name for name in others if layers[name.split(".")[0]] > layers[own]}

    assert not those([path for path in MODULES if part(path) != "__init__"], upwards)


def test_only_who_makes_an_engine_names_the_local_one():
    local = {"measure.local.engine", "measure.local.toolchains"}
    makers = {path for path in MODULES if local & ours(path)}
    assert {str(path.relative_to(PACKAGE)) for path in makers} == {
        "cluster/work.py",
        "hosted/main.py",
        "kernels/rebuilding.py",
        "measure/local/toolchains.py",
        "sessions.py",
        "training/rule_samples.py",
    }


def test_searches_and_experiments_know_the_protocol_of_an_engine_only():
    known = {"engine", "outcomes", "policy", "program", "side_by_side", "untuned", "arguments"}
    known |= {"noise_probe"}
    for path in [*(PACKAGE / "search").glob("*.py"), *(PACKAGE / "bench").glob("*.py")]:
        measure = {name.split(".")[1] for name in ours(path) if name.startswith("measure.")}
        assert measure <= known, path


def test_a_repeat_knows_no_journal_no_progress_and_no_session():
    seen: set[str] = set()
    left = [PACKAGE / "bench" / "repeat.py"]
    while left:
        for name in ours(left.pop()):
            path = PACKAGE.joinpath(*name.split(".")).with_suffix(".py")
            if name.startswith(("bench.", "storage.")) and name not in seen:
                seen.add(name)
                left.append(path)
    assert "storage.entries" in seen
    forbidden = {"journal", "history", "progress", "session", "experiment"}
    assert not {name.split(".")[-1] for name in seen} & forbidden


def test_searches_of_decisions_know_nothing_of_each_other():
    """What several of them need is in `decisions`, which knows none of them."""
    strategies = PACKAGE / "strategies"
    searches = {"autotvm", "blackbox", "draft"}

    def others(path: Path) -> set[str]:
        own = path.relative_to(strategies).with_suffix("").parts[0]
        found = {name.split(".")[1] for name in ours(path) if name.startswith("strategies.")}
        return (found & searches) - {own}

    modules = {*strategies.rglob("*.py")} - {strategies / "__init__.py", strategies / "registry.py"}
    assert not those(modules, others)


def test_program_making_knows_no_population():
    maker = PACKAGE / "strategies" / "program_maker.py"
    assert ours(maker) == {"strategies.candidate"}


def test_options_and_plugin_import_neither_numpy_nor_tvm():
    modules = ("plugin", "options", "budget", "measure.settings", "stats.criteria", "stats.limits")
    code = (
        f"import sys, {', '.join(f'{NAME}{module}' for module in modules)}; "
        "print(sorted({'numpy', 'tvm', 'tabulate', 'xgboost'} & set(sys.modules)))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.stdout.strip() == "[]", completed.stderr


def test_wall_clocks_date_what_is_written_and_time_nothing():
    """They jump, by years where a battery is empty: durations and limits go by monotonic ones."""
    dates = 0
    of_files = PACKAGE / "storage" / "cleaning.py"  # which have ages by the wall clock
    for path in {*MODULES} - {of_files}:
        nodes = [*ast.walk(tree(path))]
        written = {
            id(one.value)
            for one in nodes
            if isinstance(one, ast.FormattedValue)
            or (isinstance(one, ast.Attribute) and one.attr == "isoformat")
        }
        for call in nodes:
            if isinstance(call, ast.Call) and ast.unparse(call.func) in WALL_CLOCKS:
                assert id(call) in written, f"{path}, line {call.lineno}"
                dates += 1
    assert dates > 3
