"""Results of several commits as one experiment, if what they measured is the same in all."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.storage.merge import merge_results

MEASURED: Final = (
    *("bench", "measure", "search", "strategies", "workloads"),
    *("models/draft.npz", "models/draft.ubj", "models/rules.ubj"),
)
"""What in the package decides what a search does and what it is measured by."""


def merged(paths: Iterable[Path]) -> Result:
    """Results of files as one, of the first one's commit, if what was measured is the same in all.

    Hours of measurement see commits of tests and docs, and of reports and statistics, which are
    made anew of all results.

    Raises:
        StorageError: What was measured differs, or they clash otherwise.
    """
    found = _read(paths)
    trees = {_hashes_at(str(result.commit.get("id", ""))) for result in found.values()}
    is_same = len(trees) == 1 and "" not in trees
    return merge_results(_of_one_commit(found) if is_same else found)


def merged_across_commits(paths: Iterable[Path]) -> Result:
    """Results of files as one, whatever commits they are of: the reader has to be told.

    Raises:
        StorageError: They clash otherwise.
    """
    return merge_results(_of_one_commit(_read(paths)))


def _read(paths: Iterable[Path]) -> Mapping[str, Result]:
    return {path.name: read_result(path) for path in sorted(paths)}


def _of_one_commit(found: Mapping[str, Result]) -> Mapping[str, Result]:
    """Results as if all were of the first one's commit."""
    first = next(iter(found.values())).commit
    return {name: replace(result, commit=first) for name, result in found.items()}


def _hashes_at(commit: str) -> str:
    """Git's hashes of `MEASURED` at a commit; empty if it or one of them is unknown."""
    named = [f"{commit}:pytest_ansorbench/{part}" for part in MEASURED]
    answer = subprocess.run(
        ["git", "rev-parse", "--quiet", *named],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout if answer.returncode == 0 else ""
