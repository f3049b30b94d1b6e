"""What docs/architecture.md says of adding things, tried by doing it: there, and nowhere else.

Changes to the package are made in a copy of it, by the one or two edits that the page names. The
copy is then used as a user would, in a process that has not imported the package.
"""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import pytest

import pytest_ansorbench
from pytest_ansorbench import strategies
from tests.forked import printed_by
from tests.pages import page
from tests.plugin.conftest import measuring_fast
from tests.plugin.project import Project, options

PACKAGE = Path(pytest_ansorbench.__file__).parent


def places(what: str) -> str:
    """The row of the page on adding something."""
    section = page("docs/architecture.md").split("## Where do I add")[1].split("\n## ")[0]
    [row] = [line for line in section.splitlines() if line.startswith(f"| {what} |")]
    return row


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, to be changed."""
    copied = tmp_path / "copy" / "pytest_ansorbench"
    shutil.copytree(PACKAGE, copied)  # with what is compiled, as good as long as a file is the same
    return copied


def edit(path: Path, before: str, after: str) -> None:
    """Replace one piece of text in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, path
    path.write_text(text.replace(before, after), encoding="utf-8")


def run(copied: Path, code: str, cwd: Path) -> str:
    """What code prints with the copy in place of the package."""
    first = (
        f"import sys; sys.path.insert(0, {str(copied.parent)!r}); sys.dont_write_bytecode = True\n"
    )
    return printed_by(first + code, cwd=cwd)


FIGURE = """
            Figure(
                key="search_seconds_ratio",
                name="ratio of search seconds",
                sense="smaller",
                subject="challenger",
                measure=_seconds_ratio,
                limit_word="max-search-seconds-ratio",
            ),
"""
MEASURE = """
def _seconds_ratio() -> Measure:
    from math import log

    import numpy as np

    from pytest_ansorbench.records import Estimate
    from pytest_ansorbench.stats.bootstrap import draw, percentile_interval
    from pytest_ansorbench.stats.measures import LimitedMeasure
    from pytest_ansorbench.stats.relabellings import permutation_chance

    class SecondsRatio(LimitedMeasure):
        def values(self, paired, drawn):
            fast, slow = (
                np.array([run.search_s[-1] for run in arm])[drawn].mean(axis=1)
                for arm in (paired.challenger, paired.reference)
            )
            return fast / slow

        def improved(self, run, factor):
            return run.with_less("search_s", factor)

        def estimate(self, paired, confidence):
            n = len(paired.reference)
            value = float(self.values(paired, np.arange(n)[np.newaxis, :])[0])
            low, high = percentile_interval(self.values(paired, draw(n)), n, confidence)
            return Estimate(value, min(low, value), max(high, value))

        def chance(self, paired, limit, level):
            n = len(paired.reference)
            logs = [log(run.search_s[-1]) for run in paired.reference]
            logs += [log(run.search_s[-1] / limit) for run in paired.challenger]

            def badness(labels):
                relabelled = np.array(logs)[labels]
                return relabelled[:, n:].mean(axis=1) - relabelled[:, :n].mean(axis=1)

            return permutation_chance(badness, n, n, level)

        def spread(self, paired):
            return None

    return SecondsRatio()


# By key."""

# The same entry is an ini option, a keyword of markers, and a figure to compare by.
GATED = """
import pytest
from pytest_ansorbench.cli import main

option = "--ansor-max-search-seconds-ratio={{}}".format
for more, code in (([option(0.7)], 0), ([option(0.3)], 1), ([], 1), (["marked.py"], 1)):
    assert pytest.main([*{words}, *more]) == code
    print("#")
assert main(["compare", "saved.json", "saved.json", "--fail", "search_seconds_ratio:5%"]) == 0
"""


@pytest.fixture
def saved(tmp_path):
    """A folder with a saved result, whose challenger takes half of the seconds, and a test."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder).replaying("SAVED[:1]").root


def test_a_gate_is_an_entry_in_the_table_of_figures(copy, saved):
    assert "`stats/figures.py`" in places("a gate")
    table = copy / "stats" / "figures.py"
    edit(table, "\n# By key.", MEASURE)
    edit(table, "        for figure in (\n", "        for figure in (" + FIGURE)
    (saved / "pytest.ini").write_text("[pytest]\nansor_max_search_seconds_ratio = 0.4\n")
    cases = (saved / "test_cases.py").read_text()
    (saved / "marked.py").write_text(
        cases.replace("bench()", "bench(max_search_seconds_ratio=0.2)")
    )
    words = options("--ansor-bench", "--ansor-replay=saved.json")
    out = run(copy, GATED.format(words=words), saved)
    holds, by_option, by_ini_file, by_marker, compared = out.split("#")
    assert "1 passed" in holds
    for broken, limit in ((by_option, "0.30"), (by_ini_file, "0.40"), (by_marker, "0.20")):
        assert f"search seconds = 0.50 [0.50, 0.50] exceeds the limit {limit}: broken" in broken
    assert "search_seconds_ratio" in compared


RENDERER = '''
"""A report as lines of tab-separated cells."""

from dataclasses import dataclass

from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import Report, Table


@dataclass(frozen=True, slots=True)
class Tabs:
    """Renders tables alone."""

    def render(self, report: Report) -> str:
        """See `Renderer`."""
        tables = [b for section in report.sections for b in section.blocks if isinstance(b, Table)]
        rows = [row for table in tables for row in table.rows]
        return "\\n".join("\\t".join(printable(str(cell)) for cell in row) for row in rows)
'''
RENDERED = """
from pathlib import Path
from pytest_ansorbench.report.build import result_report
from pytest_ansorbench.report.render.formats import RENDERERS
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.storage import read_result

judged = judge_result(read_result(Path("saved.json")))
print(RENDERERS["tabs"].render(result_report(judged)))
"""


def test_a_renderer_is_a_module_and_its_entry(copy, saved):
    assert "`report/render/`" in places("a renderer")
    assert "`RENDERERS`" in places("a renderer")
    render = copy / "report" / "render"
    (render / "tabs.py").write_text(RENDERER)
    entry = '"markdown": Markdown()'
    edit(render / "formats.py", entry, entry + ', "tabs": Tabs()')
    line = "from pytest_ansorbench.report.render.terminal import Terminal\n"
    edit(
        render / "formats.py",
        line,
        f"from pytest_ansorbench.report.render.tabs import Tabs\n{line}",
    )
    rows = [line.split("\t") for line in run(copy, RENDERED, saved).splitlines()]
    assert [row[:2] for row in rows[:2]] == [["a", "default"], ["a", "fast"]]
    assert len({len(row) for row in rows}) == 1


ENGINE_CASES = """
from tests.faults import Doubling

def test_doubling(ansor_bench):
    result = ansor_bench(Doubling())
    assert {run.final.status for run in result.runs} == {"ok"}
"""
ENGINE_CONFTEST = """
from tests.proposers import scripted

def pytest_ansorbench_strategies(config):
    return [scripted(("fine", "fine"), name=name) for name in ("one", "two")]
"""


def test_an_engine_is_a_class_and_its_choice(copy, tmp_path):
    """`FastEngine` passes the contract (tests/test_fast_engine.py); here a bench uses it."""
    assert "`tests/measure/engine_contract.py`" in places("an engine")
    assert "`sessions.py`" in places("an engine")
    sessions = copy / "sessions.py"
    edit(
        sessions,
        "\n        engine = engine_of(settings)",
        "\n        engine = fast()",
    )
    edit(
        sessions,
        "\ndef why(",
        """
def fast():
    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.measure.intrinsics import register_intrinsics
    from tests.fast_engine import FastEngine

    target = resolve_target(None)
    register_intrinsics(target)
    return FastEngine(target, cpu="elsewhere")


def why(""",
    )
    (tmp_path / "test_cases.py").write_text(ENGINE_CASES)
    (tmp_path / "conftest.py").write_text(ENGINE_CONFTEST)
    words = options(
        "--ansor-bench",
        *("--ansor-strategy=one,two", "--ansor-trials=2", "--ansor-round=2", "--ansor-repeats=1"),
        *("--ansor-json=result.json", "test_cases.py"),
    )
    run(copy, f"import pytest; assert pytest.main({words}) == 0", tmp_path)
    assert '"cpu":"elsewhere"' in (tmp_path / "result.json").read_text()


def test_a_strategy_is_a_file_outside_the_package(tmp_path):
    """Its example is the one that the front door shows, with a task of four trials."""
    assert "outside the package" in places("a strategy")
    example = strategies.__doc__.split("complete:\n")[1].split("\nReturn `[STRATEGY]`")[0]
    imports = {
        line.split()[1]
        for line in textwrap.dedent(example).splitlines()
        if line.startswith("from pytest_ansorbench")
    }
    assert imports == {"pytest_ansorbench.strategies"}
    project = Project(tmp_path)
    project.write("mine.py", textwrap.dedent(example))
    project.write(
        "conftest.py",
        "from mine import STRATEGY\n\n"
        "def pytest_ansorbench_strategies(config):\n    return [STRATEGY]\n",
    )
    project.write(
        "test_cases.py",
        "from pytest_ansorbench.workloads import BatchMatmul\n\n"
        "def test_matmul(ansor_bench):\n"
        "    result = ansor_bench(BatchMatmul(batch=1, m=16, n=16, k=16))\n"
        "    assert {run.failed_trials for run in result.runs} == {0}\n",
    )
    with measuring_fast():
        outcome = project.bench(
            *("--ansor-strategy=random,uniform", "--ansor-trials=4", "--ansor-round=2"),
            *("--ansor-repeats=1", "--ansor-final-turns=2", "--ansor-final-sets=1"),
            *("-v", "test_cases.py"),
        )
    assert outcome.code == 0, outcome.text
    assert "best_gflops=" in outcome.out
