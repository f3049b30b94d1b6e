"""What a session leaves behind: result files, reports, a summary for GitHub Actions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.refusals import in_options
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.showing import short_report, whole_report, write_text
from pytest_ansorbench.records import Result
from pytest_ansorbench.report.render.comment import fitted
from pytest_ansorbench.report.render.outputs import write_report
from pytest_ansorbench.storage import StorageError, save_numbered, write_result
from pytest_ansorbench.winners import scripts_of

_SUMMARY_BYTES: Final = 1_000_000
"""GitHub shows no summary of a step that is above 1 MiB."""


class Saving:
    """Writes what the options of files ask for; what fails is noted and costs itself alone."""

    def __init__(self, root: Path, settings: Settings, notes: list[str]) -> None:
        """Prepare; `notes` are the lines at a session's end."""
        self._root, self._settings, self._files = root, settings, settings.files
        self._notes = notes
        self._unwritten: dict[str, str] = {}

    @property
    def unwritten(self) -> Sequence[str]:
        """What was asked for and could not be written, a sentence each."""
        return [f"not written: {what}: {why}" for what, why in self._unwritten.items()]

    @contextmanager
    def _written(self, what: str) -> Iterator[None]:
        """Write what an option asks for; if that fails, remember why until it succeeds."""
        self._unwritten.pop(what, None)
        try:
            yield
        except (StorageError, OSError) as error:
            self._unwritten[what] = in_options(error)

    def write_json(self, result: Result) -> None:
        path = self._files.json
        if path is not None and (result.cases or result.shards is not None):
            with self._written(flag_of("files.json")):
                write_result(result, path)

    def store(self, result: Result, is_whole: bool) -> None:
        """Store the result if that was asked for; in part it is none to compare with.

        A session whose result file is missing goes on, and stores it then.
        """
        name = self._files.save or (_autosave_name(result) if self._files.autosave else None)
        if name is None:
            return
        flag = flag_of("files.save" if self._files.save else "files.autosave")
        if not is_whole or self._unwritten:
            why = f"{flag_of('files.json')} was not written" if is_whole else "not all has run yet"
            self._notes.append(f"not saved: {flag}: {why}")
            return
        with self._written(flag):
            path = save_numbered(result, self._root / self._files.storage, name)
            self._notes.append(f"saved: {path}")

    def write_reports(self, result: Result, reporter: pytest.TerminalReporter) -> None:
        """Write the reports that were asked for."""
        for output in self._files.report:
            scripts = scripts_of(result) if output.has_room else ()
            report = whole_report(result, self._settings, scripts)
            with self._written(f"{flag_of('files.report')} {output}"):
                write_report(report, [output], partial(write_text, reporter))
                if output.path is not None:
                    self._notes.append(f"written: {output.path}")

    def summarize_step(self, result: Result) -> None:
        """Add the result to the summary of a step of GitHub Actions.

        https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
        """
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if not path:
            return
        report = short_report(result, self._settings)
        problem = ""
        try:
            with Path(path).open("a", encoding="utf-8") as summary:
                if text := fitted(report, _SUMMARY_BYTES - summary.tell()):
                    summary.write(f"{text}\n\n")
                else:
                    problem = f"{path} is full, of {_SUMMARY_BYTES:,} bytes at most"
        except OSError as error:
            problem = str(error)
        if problem:
            self._notes.append(f"no step summary: {problem}")


def _autosave_name(result: Result) -> str:
    """As pytest-benchmark calls its own: commit, time, and whether files were changed."""
    commit = result.commit
    changed = "_uncommitted-changes" if commit.get("dirty") else ""
    return f"{str(commit['id'])[:12]}_{datetime.now(timezone.utc):%Y%m%d_%H%M%S}{changed}"
