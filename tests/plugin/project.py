"""A project on disk with a tuning case, and pytest run on it as a user would run it.

Most sessions run in this process, as a fresh one would: a fresh one takes seconds to import TVM.
Those of `start` and the methods that end in `apart` have a process of their own. They are for what
a process is about: signals, pytest-xdist, modules that are missing.
"""

from __future__ import annotations

import functools
import gzip
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass
from functools import partial
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.storage import write_result
from pytest_ansorbench.strategies import ENTRY_POINT_GROUP
from tests.plugin.apart import Apart, started
from tests.saved_cases import SAVED, result_of

REPOSITORY = Path(__file__).parents[2]
#: A `torch` that cannot be imported. TVM imports PyTorch where it is installed, for two seconds.
WITHOUT_TORCH = Path(__file__).parent / "without_torch"

CONFTEST = """
from tests.proposers import scripted

def pytest_ansorbench_strategies(config):
    fine = ("fine", "fine")
    return [
        scripted(fine, fine, fine, fine, name="one"),
        scripted(fine, fine, fine, fine, name="two"),
        scripted(("fine", "crash"), ("hang", "wrong"), ("unbuildable", "fine"), name="faulty"),
        scripted(("wrong", "wrong"), ("wrong", "wrong"), name="never-right"),
    ]
"""

CASES = """
import pytest
from tests.faults import Doubling

@pytest.mark.ansor_bench(
    trials=4, round=2, repeats=1, strategy="one,two", final_turns=2, final_sets=1
)
@pytest.mark.parametrize("case", [Doubling()], ids=str)
def test_doubling(ansor_bench, case):
    ansor_bench(case)
"""

#: A round of two trials, and winners that are measured in two turns.
BRIEF = (
    *("--ansor-trials=2", "--ansor-round=2", "--ansor-repeats=1"),
    *("--ansor-final-turns=2", "--ansor-final-sets=1"),
)

#: A `conftest.py` with the strategy racing-random.
RACING = """
from dataclasses import replace
from pytest_ansorbench.strategies import RacingMeasurement, Registry

def pytest_ansorbench_strategies(config):
    random = Registry().get("random")
    return [replace(random, name="racing-random", measurement=RacingMeasurement())]
"""

SAVED_CASES = """
import pytest
from tests.saved_cases import MORE, SAVED

@pytest.mark.ansor_bench()
@pytest.mark.parametrize("case", {cases}, ids=str)
def test_case(ansor_bench, case):
    ansor_bench(case)
"""


@dataclass(frozen=True)
class Outcome:
    """What a pytest run came to."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def refusal(self) -> str:
        """The one line that says why nothing ran."""
        assert self.code == pytest.ExitCode.USAGE_ERROR, self.text
        assert "Traceback" not in self.text
        [line] = [line for line in self.text.splitlines() if line.startswith("ERROR: ")]
        return line.removeprefix("ERROR: ")


class Terminal(io.StringIO):
    """Output that says of itself that somebody looks at it."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Project:
    """A folder with test files."""

    root: Path

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def replace(self, name: str, before: str, after: str) -> None:
        """Replace a piece of a file."""
        text = (self.root / name).read_text(encoding="utf-8")
        assert before in text
        self.write(name, text.replace(before, after))

    def copy(self, root: Path) -> Project:
        """The same in another folder, for a test that goes on with it."""
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return Project(root)

    def json(self, name: str) -> Any:
        return json.loads((self.root / name).read_text(encoding="utf-8"))

    def journal(self, number: int = 1) -> Path:
        """The path of a session's journal, which is packed beside it once the session has ended."""
        return self.root / ".ansor_bench" / "journals" / f"{number:04}.jsonl"

    def journal_lines(self) -> list[bytes]:
        """The lines of its packed journal."""
        packed = self.journal().with_suffix(".jsonl.gz")
        return gzip.decompress(packed.read_bytes()).splitlines(keepends=True)

    def cut_journal(self, lines: Sequence[bytes]) -> None:
        """Leave these lines of it, as the kill of a session does."""
        self.journal().with_suffix(".jsonl.gz").unlink()
        self.journal().write_bytes(b"".join(lines))

    def replaying(self, cases: str) -> Project:
        """Have it replay a saved result: all that comes after the runs, without any run."""
        self.write("conftest.py", "")
        self.write("test_cases.py", SAVED_CASES.format(cases=cases))
        write_result(result_of(SAVED), self.root / "saved.json")
        return self

    def pytest(self, *arguments: str, **variables: str) -> Outcome:
        return self._here(partial(main_of_pytest, *arguments), io.StringIO(), **variables)

    def bench(self, *arguments: str, **variables: str) -> Outcome:
        return self.pytest("--ansor-bench", "--ansor-build-workers=1", *arguments, **variables)

    def on_a_terminal(self, *arguments: str, columns: int = 200) -> Outcome:
        """A bench whose output goes to a terminal, as it was written."""
        variables = {"TERM": "xterm", "COLUMNS": str(columns)}
        run = partial(main_of_pytest, "--ansor-bench", *arguments)
        return self._here(run, Terminal(), **variables)

    def ansor_bench(self, *arguments: str) -> Outcome:
        """The command of results."""
        return self._here(partial(main, [*arguments]), io.StringIO())

    def pytest_apart(self, *arguments: str, **variables: str) -> Outcome:
        completed = subprocess.run(
            command(*arguments),
            cwd=self.root,
            env=environment(**variables),
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Outcome(completed.returncode, completed.stdout, completed.stderr)

    def bench_apart(self, *arguments: str, **variables: str) -> Outcome:
        words = ("--ansor-bench", "--ansor-build-workers=1", *arguments)
        return self.pytest_apart(*words, **variables)

    def start(
        self, *arguments: str, terminal: tuple[int, int] | None = None, **variables: str
    ) -> AbstractContextManager[Apart]:
        """A bench that runs on its own, to be interrupted or killed."""
        words = options("--ansor-bench", *arguments)
        return started(words, self.root, terminal or os.pipe(), **environment(**variables))

    def _here(self, run: Callable[[], int], out: io.StringIO, **variables: str) -> Outcome:
        err = io.StringIO()
        fresh = as_in_a_fresh_process(self.root, environment(**variables))
        with fresh, redirect_stdout(out), redirect_stderr(err):
            code = int(run())
        return Outcome(code, out.getvalue(), err.getvalue())


def options(*arguments: str) -> list[str]:
    # Hypothesis has nothing to do here, and takes a second to be imported. A look at the machine
    # takes seconds; tests that want one say so.
    # Plugins of others are asked for by the tests that are about them.
    without = ("cacheprovider", "hypothesispytest", "randomly", "rerunfailures", "timeout")
    blocked = (f"-pno:{name}" for name in without)
    return [*blocked, "--ansor-noise-check=0", *arguments]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *options(*arguments)]


def main_of_pytest(*arguments: str) -> int:
    # The session around this one has its own; without these no garbage is looked for at each end.
    without = ("-p", "no:faulthandler", "-p", "no:unraisableexception")
    return pytest.main([*without, *options(*arguments)])


def environment(**variables: str) -> dict[str, str]:
    """Variables of a session, without those that tell it of the session around it."""
    paths = (variables.pop("PYTHONPATH", ""), str(WITHOUT_TORCH), str(REPOSITORY))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    joined = os.pathsep.join(filter(None, paths))
    return {"COLUMNS": "80", **inherited, "PYTHONPATH": joined, **variables}


@contextmanager
def as_in_a_fresh_process(folder: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """This process, in a folder and an environment, with the warnings that Python begins with.

    What is imported stays so, except for the folder's own modules, which other projects have under
    the same names.
    """
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.chdir(folder)
        for name in os.environ.keys() - variables.keys():
            patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        added = variables["PYTHONPATH"].split(os.pathsep)
        # pytest-xdist hands on the path that its process began with.
        patch.setattr("xdist.workermanage._sys_path", [*added, *sys.path])
        added.remove(str(WITHOUT_TORCH))  # other tests of this process need PyTorch
        patch.setattr(sys, "path", [*added, *sys.path])
        patch.setattr("importlib.metadata.distributions", _offering)
        patch.setattr(sys, "dont_write_bytecode", True)
        warnings.resetwarnings()
        for hidden in (DeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            for name, module in [*sys.modules.items()]:
                if str(getattr(module, "__file__", "")).startswith(f"{folder}{os.sep}"):
                    del sys.modules[name]


def _offering() -> Iterator[Distribution]:
    """The distributions that offer what a session looks for, which it does three times."""
    return (found for folder in sys.path for found in _offering_in(folder))


@functools.cache
def _offering_in(folder: str) -> Sequence[Distribution]:
    groups = {"pytest11", ENTRY_POINT_GROUP}
    there = Distribution.discover(path=[folder])
    return [one for one in there if not groups.isdisjoint(e.group for e in one.entry_points)]


def trials(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The trials of a run in a result file, one object each."""
    columns = run["trials"]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def rounds_in(lines: Sequence[bytes]) -> list[int]:
    """The places of a journal's lines that are rounds."""
    return [at for at, line in enumerate(lines) if line.startswith(b'{"kind":"round"')]
