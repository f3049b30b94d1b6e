"""What `benchmarks/soak_session.py` says of what grows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def run(memory_mb: float = 0.0, sockets: float = 0.0, propose_s: float = 0.0) -> list[Any]:
    """A run of 20,000 trials whose figures grow so much for each 1,000."""
    return [
        {
            "trials": trials,
            "minutes": trials / 200,
            "memory_mb": 400.0 + memory_mb * trials / 1000 + (trials % 32) / 16,
            "files": 9,
            "sockets": 20 + sockets * trials / 1000,
            "proposed": 16,
            "propose_s": 16 * (0.05 + propose_s * trials / 1000),
        }
        for trials in range(16, 20_001, 16)
    ]


@pytest.mark.parametrize(
    ("grows", "name", "by"),
    [
        ({"memory_mb": 3.0}, "memory_mb", 57.0),
        ({"sockets": 0.1}, "sockets", 1.9),
        ({"propose_s": 0.002}, "propose", 0.69),
    ],
)
def test_what_grows_is_told_and_breaks_its_bar(
    import_script: Any, grows: dict[str, float], name: str, by: float
) -> None:
    script = import_script("soak_session")
    text, right = script.told(run(**grows))
    assert not right
    [line] = [line for line in text.splitlines() if line.startswith(f"{name}: ") and "bar" in line]
    assert float(line.split()[1]) == pytest.approx(by, rel=0.05)


def test_what_stays_keeps_all_bars(import_script: Any) -> None:
    text, right = import_script("soak_session").told(run())
    assert right, text
    assert text.startswith("20000 trials in 1250 rounds")


def test_a_session_that_dies_is_told(
    import_script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = import_script("soak_session")
    dead = [sys.executable, "-c", "raise SystemExit(4)"]
    monkeypatch.setattr(script, "begun", lambda *_: subprocess.Popen(dead))
    monkeypatch.setattr(sys, "argv", ["soak_session.py", "--into", str(tmp_path / "looks.jsonl")])
    with pytest.raises(SystemExit, match=r"^the session ended after 0 trials \(exit code 4\)$"):
        script.main()
