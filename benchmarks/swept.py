"""Many programs through sessions of pytest, each told in one sentence whatever becomes of it.

This module is the plugin of those sessions as well: it notes what becomes of each test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

    from pytest_ansorbench.records import CaseResult

TUNED: Final = "tuned and right"
ROOT: Final = Path(__file__).parent.parent
SENTENCE: Final = 400
"""Characters of one at most."""

_NOTES: Final = "ANSOR_SWEPT_NOTES"
_QUICK: Final = {
    **{"strategy": "random", "check": "all", "repeats": 1, "noise-check": 0},
    **{"final-turns": 2, "final-sets": 1, "progress": "believed"},
}


def swept(folder: Path, tests: str, names: Sequence[str], **options: object) -> dict[str, str]:
    """Run tests, one a program, and tell what became of each.

    Args:
        folder: Where the tests are written to.
        tests: Source of a file of tests, with a `test_program` parametrized by `NAMES`.
        names: The programs: what `NAMES` is.
        options: Options of `--ansor-NAME VALUE`, besides those of a quick session.

    Returns:
        Sentences by name: `TUNED`, how many tasks were left untuned, or the first line of the
        test's failure. A session that dies is begun again behind the test that it died in.
    """
    folder = folder.resolve()
    file, notes = folder / "test_swept.py", folder / "notes.jsonl"
    notes.write_text("", encoding="utf-8")
    command = [
        *(sys.executable, "-m", "pytest", "--ansor-bench", str(file), "-q", "--tb=line"),
        *("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "swept", "--rootdir", str(folder)),
        *(f"--ansor-{name}={value}" for name, value in {**_QUICK, **options}.items()),
    ]
    here = str(Path(__file__).parent)
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    variables = {**os.environ, "PYTHONPATH": path, _NOTES: str(notes)}
    while left := [name for name in names if name not in _read(notes)]:
        file.write_text(f"NAMES = {left!r}\n{tests}", encoding="utf-8")
        ended = subprocess.run(command, cwd=folder, env=variables, check=False, stdout=sys.stderr)
        found = _read(notes)
        if left[0] not in found and ended.returncode >= 0:
            raise SystemExit(f"the session ended with {ended.returncode} before its first test")
        lost = next((name for name in left if name not in found), None)
        if ended.returncode < 0 and lost is not None:
            died = signal.Signals(-ended.returncode).name
            _note(notes, lost, f"the session died of {died}")
    found = _read(notes)
    return {name: found[name] for name in names}


def _read(notes: Path) -> dict[str, str]:
    return dict(json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines())


def _note(notes: Path, name: str, sentence: str) -> None:
    with notes.open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, sentence]) + "\n")


_results: dict[str, str] = {}


def pytest_ansorbench_case_finished(item: pytest.Item, result: CaseResult) -> None:
    """Remember what a case came to, until its test has passed."""
    [run] = result.runs
    untuned = sum(trial is None for trial in run.best_trials)
    of = f"{untuned} of {len(run.tasks)} tasks untuned"
    _results[item.nodeid] = f"right, {of}" if untuned else TUNED


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what became of a test."""
    if report.when != "call" and not report.failed:
        return
    name = report.nodeid.partition("[")[2].removesuffix("]")
    sentence = _failure(report.longrepr) if report.failed else _results[report.nodeid]
    _note(Path(os.environ[_NOTES]), name, sentence)


def _failure(longrepr: Any) -> str:
    """The first line of a failure's message; an error that is none of a test's own says so."""
    crash = getattr(longrepr, "reprcrash", None)
    text = str(longrepr) if crash is None else f"traceback: {crash.message}"
    text = text.removeprefix("traceback: Failed: ").strip()
    return text.splitlines()[0][:SENTENCE]


def counts(outcomes: Mapping[str, str]) -> str:
    """How many were tuned and right, of all."""
    tuned = sum(outcome == TUNED for outcome in outcomes.values())
    return f"{TUNED}: {tuned} of {len(outcomes)}"
