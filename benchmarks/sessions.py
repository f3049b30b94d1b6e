"""Sessions of pytest on the cases of this package, as benchmarks run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
RESULTS: Final = ROOT / "docs" / "results"


def bench(
    output: Path, *words: str, tests: str = "bench_cases", plugin: str = "", **options: object
) -> None:
    """Run a session into a result, from the checkout; a broken gate is an outcome.

    Args:
        output: The result's file.
        words: Options as they are.
        tests: Where cases are collected.
        plugin: A script of this folder that is a plugin of the session.
        options: Options of `--ansor-NAME VALUE`; an underscore in a name is a hyphen. Paths are
            told from the checkout on, lest the result names a folder of this machine.

    Raises:
        SystemExit: It failed.
    """
    command = [sys.executable, "-m", "pytest", "--ansor-bench", tests, "-q"]
    command += ["-p", "no:cacheprovider", *words]
    for name, value in {"json": output, **options}.items():
        told = os.path.relpath(value, ROOT) if isinstance(value, Path) else value
        command.append(f"--ansor-{name.replace('_', '-')}={told}")
    environment = dict(os.environ)
    if plugin:
        command += ["-p", plugin]
        others = filter(None, [environment.get("PYTHONPATH")])
        environment["PYTHONPATH"] = os.pathsep.join([str(HERE), *others])
    code = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, stdout=sys.stderr
    ).returncode
    if code not in (0, 1) or not output.exists():
        raise SystemExit(code)


def to_resume(storage: Path) -> list[str]:
    """Words that go on with the session whose journal is in a storage folder, if there is one."""
    return ["--ansor-resume", "0001"] if any(storage.glob("journals/0001*")) else []
