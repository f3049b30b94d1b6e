"""Sessions of pytest on the cases of this package, as benchmarks run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
RESULTS: Final = ROOT / "docs" / "results"


def bench(output: Path, *words: str, **options: object) -> None:
    """Run a session into a result; a broken gate is an outcome.

    Args:
        output: The result's file.
        words: Options as they are.
        options: Options of `--ansor-NAME VALUE`; an underscore in a name is a hyphen.

    Raises:
        SystemExit: It failed.
    """
    named = [f"--ansor-{name.replace('_', '-')}={value}" for name, value in options.items()]
    command = [
        *(sys.executable, "-m", "pytest", "--ansor-bench", str(ROOT / "bench_cases"), "-q"),
        *("-p", "no:cacheprovider", "--ansor-json", str(output), *named, *words),
    ]
    code = subprocess.run(command, check=False, stdout=sys.stderr).returncode
    if code not in (0, 1) or not output.exists():  # 1: a gate is broken
        raise SystemExit(code)
