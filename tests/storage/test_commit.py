"""Which code a result was measured with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from pytest_benchmark.utils import get_commit_info

from pytest_ansorbench.storage import commit, describe_commit

NOWHERE = {
    "id": "unversioned",
    "time": None,
    "author_time": None,
    "dirty": False,
    "branch": "(unknown)",
}


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep settings and repositories around the test out of it."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "tuner"
    root.mkdir()
    git(root, "init", "-b", "main")
    (root / "file").write_text("one")
    git(root, "add", "file")
    git(root, "commit", "-m", "first")
    return root


def test_a_clean_commit_is_described_as_by_pytest_benchmark(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = describe_commit(repository)
    monkeypatch.chdir(repository)
    assert described == get_commit_info("tuner")
    assert len(described["id"]) == 40
    assert described["branch"] == "main"


def test_a_folder_below_the_root_will_do(repository: Path) -> None:
    below = repository / "below"
    below.mkdir()
    assert describe_commit(below) == describe_commit(repository)


def test_a_changed_file_is_dirty_and_a_new_one_is_not(repository: Path) -> None:
    (repository / "new").write_text("")
    assert describe_commit(repository)["dirty"] is False
    (repository / "file").write_text("two")
    assert describe_commit(repository)["dirty"] is True


def test_tags_with_hyphens_do_not_matter(repository: Path) -> None:
    plain = describe_commit(repository)
    git(repository, "tag", "-a", "v1-rc-g1", "-m", "tag")
    assert describe_commit(repository) == plain


def test_detached_head(repository: Path) -> None:
    git(repository, "checkout", "--detach")
    assert describe_commit(repository)["branch"] == "(detached head)"


@pytest.mark.parametrize(
    "remote", ["https://me:secret@example.org/team/tuner2.git", "git@example.org:tuner2"]
)
def test_project_is_the_last_part_of_the_remote(repository: Path, remote: str) -> None:
    git(repository, "remote", "add", "origin", remote)
    assert describe_commit(repository)["project"] == "tuner2"


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "main")
    described = describe_commit(tmp_path)
    assert (described["id"], described["time"]) == ("unversioned", None)
    assert described["branch"] == "main"


def test_outside_a_repository(tmp_path: Path) -> None:
    assert describe_commit(tmp_path) == {**NOWHERE, "project": tmp_path.name}


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe_commit(tmp_path) == {**NOWHERE, "project": tmp_path.name, "id": "unknown"}


def test_a_git_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(commit, "_TIMEOUT_S", 0.1)
    assert describe_commit(tmp_path)["id"] == "unknown"


def test_in_a_repository_a_git_that_cannot_tell_says_so(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, failing = shutil.which("git"), tmp_path / "git"
    failing.write_text(f'#!/bin/sh\ncase "$*" in *status*) exit 1;; esac\nexec {whole} "$@"\n')
    failing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    described = describe_commit(repository)
    assert (described["id"], described["branch"]) == ("unknown", "main")
