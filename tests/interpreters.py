"""Interpreters of other environments, as far as a test needs them: scripts that start this one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WITHOUT_TORCH = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "tests" / "plugin" / "without_torch", ROOT))),
}
"""Environment of processes that import TVM, which imports PyTorch for seconds if it can."""

_OTHER_PROTOCOL = """
import json, socket, struct, sys
end = socket.socket(fileno=int(sys.argv[1]))
text = json.dumps({"protocol": 99, "machine": {}}).encode()
end.sendall(struct.pack("!QQ", len(text), 0) + text)
end.recv(1)
"""


def as_it_is(folder: Path) -> str:
    """This interpreter under another path."""
    path = WITHOUT_TORCH["PYTHONPATH"]
    return _script(folder / "as-it-is", f'PYTHONPATH="{path}" exec "{sys.executable}" "$@"')


def is_as_it_is(python: str) -> bool:
    """Whether it is one of these."""
    return Path(python).name == "as-it-is"


def without_plugin(folder: Path) -> str:
    """One that has the standard library and nothing else."""
    return _script(folder / "bare", f'exec "{sys.executable}" -I -S "$@"')


def with_other_protocol(folder: Path) -> str:
    """One whose plugin answers in another protocol."""
    package = folder / "other" / "pytest_ansorbench" / "measure" / "local"
    package.mkdir(parents=True)
    for parent in (package, package.parent, package.parent.parent):
        (parent / "__init__.py").touch()
    (package / "fork_server_main.py").write_text(_OTHER_PROTOCOL)
    hosted = folder / "other" / "pytest_ansorbench" / "hosted"
    hosted.mkdir()
    (hosted / "__init__.py").touch()
    (hosted / "main.py").write_text(_OTHER_PROTOCOL)
    lines = f'export PYTHONPATH="{folder / "other"}"\nexec "{sys.executable}" -P "$@"'
    if sys.version_info < (3, 11):
        lines = lines.replace(" -P", "").replace("exec", f'cd "{folder}"\nexec')
    return _script(folder / "other-protocol", lines)


UNFIT = (
    (lambda folder: "/nowhere/python", "cannot start the interpreter '/nowhere/python'"),
    (without_plugin, "install pytest-ansorbench there"),
    (with_other_protocol, "speaks protocol 99 and not"),
)
"""Interpreters that will not do, by what makes them in a folder, and how that is told."""


def _script(path: Path, lines: str) -> str:
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return str(path)
