"""A project on disk with a tuning case, and pytest run on it as a user would run it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

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


@dataclass(frozen=True)
class Outcome:
    """What a pytest run came to."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@dataclass(frozen=True)
class Project:
    """A folder with test files."""

    root: Path

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def break_workers(self) -> None:
        """Let workers fail to start: a child's import of TVM fails, the parent's was before."""
        planted = self.root / "planted"
        planted.mkdir()
        (planted / "tvm.py").write_text("raise ImportError('planted')\n", encoding="utf-8")
        conftest = (self.root / "conftest.py").read_text(encoding="utf-8")
        line = f"import os, tvm\nos.environ['PYTHONPATH'] = {str(planted)!r}\n"
        self.write("conftest.py", f"{conftest}\n{line}")

    def command(self, *arguments: str) -> list[str]:
        # Hypothesis has nothing to do here, and takes a second to be imported.
        without = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
        # A look at the machine takes seconds; tests that want one say so.
        quick = "--ansor-noise-check=0"
        return [sys.executable, "-m", "pytest", *without, quick, *arguments]

    def environment(self, **variables: str) -> dict[str, str]:
        paths = (variables.pop("PYTHONPATH", ""), str(WITHOUT_TORCH), str(REPOSITORY))
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return {**inherited, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **variables}

    def pytest(self, *arguments: str, **variables: str) -> Outcome:
        completed = subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Outcome(completed.returncode, completed.stdout, completed.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A bench that runs on its own, to be interrupted or killed."""
        return subprocess.Popen(
            self.command("--ansor-bench", *arguments),
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A suite that runs in the background hands down an ignored SIGINT.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def bench(self, *arguments: str, **variables: str) -> Outcome:
        return self.pytest("--ansor-bench", "--ansor-build-workers=1", *arguments, **variables)

    def on_a_terminal(self, *arguments: str, columns: int = 200) -> Outcome:
        """A bench whose output goes to a terminal, as it was written."""
        import pty  # not there on Windows

        terminal, child_end = pty.openpty()
        process = subprocess.Popen(
            self.command("--ansor-bench", *arguments),
            cwd=self.root,
            env=self.environment(TERM="xterm", COLUMNS=str(columns)),
            stdout=child_end,
            stderr=child_end,
        )
        os.close(child_end)
        out = b""
        with process:
            while select.select([terminal], [], [], 60)[0]:
                try:
                    out += os.read(terminal, 65536)
                except OSError:  # the child closed its end
                    break
        os.close(terminal)
        return Outcome(process.returncode, out.decode(), "")

    def ansor_bench(self, *arguments: str) -> Outcome:
        """The command of results."""
        completed = subprocess.run(
            [sys.executable, "-m", "pytest_ansorbench.cli", *arguments],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Outcome(completed.returncode, completed.stdout, completed.stderr)

    def json(self, name: str):
        return json.loads((self.root / name).read_text(encoding="utf-8"))


def trials(run):
    """The trials of a run in a result file, one object each."""
    columns = run["trials"]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    made.write("conftest.py", CONFTEST)
    made.write("test_cases.py", CASES)
    return made


SAVED_CASES = """
import pytest
from tests.saved_cases import MORE, SAVED

@pytest.mark.ansor_bench()
@pytest.mark.parametrize("case", {cases}, ids=str)
def test_case(ansor_bench, case):
    ansor_bench(case)
"""


def replaying(project, cases):
    """Let a project replay a saved result: all that comes after the runs, in two seconds."""
    from pytest_ansorbench.storage import write_result
    from tests.saved_cases import SAVED, result_of

    project.write("conftest.py", "")
    project.write("test_cases.py", SAVED_CASES.format(cases=cases))
    write_result(result_of(SAVED), project.root / "saved.json")
    return project


@pytest.fixture
def saved(project):
    """One case of a saved result."""
    return replaying(project, "SAVED[:1]")


@pytest.fixture
def everything(project):
    """All three cases of it."""
    return replaying(project, "SAVED")
