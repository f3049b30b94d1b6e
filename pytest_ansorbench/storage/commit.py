"""Which code a result was measured with, under the keys that pytest-benchmark uses.

pytest-benchmark's own `get_commit_info` looks at the current directory alone and takes a tag
with a hyphen for granted, so this asks git itself.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

_TIMEOUT_S: Final = 10.0


class _GitError(Exception):
    """Git is not there, does not answer, or refuses."""


def describe_commit(root: Path) -> dict[str, Any]:
    """Describe the state of the working tree that holds `root`.

    Outside a repository and before the first commit `id` is `unversioned`; if git cannot tell,
    `unknown`. Times are None then.
    """
    described: dict[str, Any] = {
        "id": "unversioned",
        "time": None,
        "author_time": None,
        "dirty": False,
        "project": root.resolve().name,
        "branch": "(unknown)",
    }
    try:
        top = Path(_git(root, "rev-parse", "--show-toplevel"))
    except _GitError as error:
        if "not a git repository" not in str(error):
            described["id"] = "unknown"
        return described
    described["project"] = _project(root) or top.name
    try:
        described["branch"] = _ask(
            root, "symbolic-ref", "--quiet", "--short", "HEAD", otherwise="(detached head)"
        )
        described["dirty"] = bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
        how = ("--no-patch", "--no-show-signature", "--pretty=format:%H %cI %aI")
        shown = _git(root, "show", *how, "HEAD")
        described["id"], described["time"], described["author_time"] = shown.split()
    except _GitError as error:
        if "unknown revision" not in str(error):  # as before the first commit
            described["id"] = "unknown"
    return described


def _project(root: Path) -> str:
    remote = _ask(root, "config", "--get", "remote.origin.url", otherwise="")
    # The last part only: what comes before may hold a user name, even a password.
    parts = [part for part in re.split(r"[/:\s\\]", remote.removesuffix(".git")) if part]
    return parts[-1] if parts else ""


def _ask(root: Path, *arguments: str, otherwise: str) -> str:
    try:
        return _git(root, *arguments)
    except _GitError:
        return otherwise


def _git(root: Path, *arguments: str) -> str:
    # Without optional locks, so that a look never disturbs a commit under way; in English,
    # since one message is told apart from the others.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            timeout=_TIMEOUT_S,
            env=environment,
        )
    except subprocess.CalledProcessError as error:
        raise _GitError(error.stderr) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _GitError(str(error)) from None
    return done.stdout.strip()
