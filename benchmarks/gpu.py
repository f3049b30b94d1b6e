"""What tuning for a GPU comes to: `default` and `draft` on four cases, beside PyTorch's kernels.

    python benchmarks/gpu.py --into FOLDER [--run-time 12s] [--repeats 2] [--minutes 5]

Everything goes into the folder as it is measured: the journal of one session of pytest, whatever it
printed, its result if it came to its end, PyTorch's times. When the minutes are over the session
gets Ctrl-C, and the report is of what is in the journal. `--report` makes only the report, of a
folder that was measured before.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tabulate import tabulate

from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure.local.engine import local_engine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.storage.entries import CaseEntry, RoundEntry
from pytest_ansorbench.workloads import BatchMatmul, Conv2d, Softmax

STRATEGIES: Final = "default,draft"
SHAPES: Final = {
    "matmul float16": BatchMatmul(
        batch=1, m=1024, n=1024, k=1024, dtype="float16", accumulator="float16"
    ),
    "conv2d": Conv2d.square(14, 256, 256, 3, 1, 1),
    "softmax": Softmax(m=1536, n=128),
    "matmul float32": BatchMatmul(batch=1, m=1024, n=1024, k=1024),
}
"""On compute capability 7.5 and above TVM's own space has tensor cores, for float16."""
TESTS: Final = """
import pytest
from pytest_ansorbench.workloads import BatchMatmul, Conv2d, Softmax

CASES = [{cases}]

@pytest.mark.parametrize("case", CASES, ids=str)
def test_on_gpu(ansor_bench, case):
    ansor_bench(case)
"""
_GRACE_S: Final = 20.0
"""For a session that was interrupted to say so and end its processes."""
TORCH: Final = """
import json, torch
import torch.nn.functional as F
if not torch.cuda.is_available():
    raise SystemExit("this PyTorch sees no CUDA device")
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
def seconds(call, least_ms=100.0):
    def timed(calls):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in "ab")
        first.record()
        for _ in range(calls):
            call()
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last)
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    calls = max(10, int(least_ms / max(1e-3, timed(10) / 10)))
    return min(timed(calls) for _ in range(5)) / calls / 1e3
def rand(*shape, dtype=torch.float32):
    return torch.rand(*shape, device="cuda").to(dtype)
def product(n, dtype):
    a, b = rand(n, n, dtype=dtype), rand(n, n, dtype=dtype)
    return seconds(lambda: a @ b)
x, w = rand(1, 256, 14, 14), rand(256, 256, 3, 3)
xl, wl = (one.contiguous(memory_format=torch.channels_last) for one in (x, w))
s = rand(1536, 128)
big = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
other = torch.empty_like(big)
p = torch.cuda.get_device_properties(0)
with torch.no_grad():
    print(json.dumps({
        "device": p.name, "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
        "seconds": {
            "matmul float32": product(1024, torch.float32),
            "matmul float16": product(1024, torch.float16),
            "conv2d": min(seconds(lambda: F.conv2d(x, w, padding=1)),
                          seconds(lambda: F.conv2d(xl, wl, padding=1))),
            "softmax": seconds(lambda: torch.softmax(s, 1)),
        },
        "float32 TFLOP/s at 8192": 2 * 8192**3 / product(8192, torch.float32) / 1e12,
        "float16 TFLOP/s at 8192": 2 * 8192**3 / product(8192, torch.float16) / 1e12,
        "copied TB/s": 2 * 2**30 / seconds(lambda: other.copy_(big)) / 1e12,
    }))
"""


def main() -> None:
    """Measure, then report; a sentence where there is no GPU."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--run-time", default="12s", help="search time of a run")
    parser.add_argument("--trials", type=int, default=64, help="of a run, at most")
    parser.add_argument("--repeats", type=int, default=2, help="of each case")
    parser.add_argument("--minutes", type=float, default=5.0, help="of everything")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    given = parser.parse_args()
    if not given.report:
        over_s = time.monotonic() + 60.0 * given.minutes
        try:
            local_engine(given.target, EngineSettings())
        except ToolchainError as error:
            raise SystemExit(str(error)) from None
        given.into.mkdir(parents=True, exist_ok=True)
        measure_torch(given.into)
        measure(given, over_s)
    print(report(given.into))


def measure_torch(into: Path) -> None:
    """PyTorch's times as a file, unless the folder has them, or why there are none."""
    if _torch(into / "torch.txt"):
        return
    done = _run([sys.executable, "-c", TORCH], into / "torch.txt", 120.0)
    if done:
        print(f"PyTorch's kernels were not timed, see {into / 'torch.txt'}", flush=True)


def measure(given: argparse.Namespace, over_s: float) -> None:
    """One session; Ctrl-C when the time is over."""
    tests = given.into / "test_gpu.py"
    tests.write_text(TESTS.format(cases=", ".join(map(repr, SHAPES.values()))), encoding="utf-8")
    options = {
        "strategy": STRATEGIES,
        "target": given.target,
        "trials": given.trials,
        "run-time": given.run_time,
        "round": 8,
        "repeats": given.repeats,
        "final-sets": "1:2",
        "noise-check": 1,
        "json": given.into / "result.json",
        "storage": given.into,
    }
    words = [f"--ansor-{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "pytest", "--ansor-bench", "-rA", "-p", "no:cacheprovider"]
    command += ["-p", "no:randomly"]
    patience_s = max(1.0, over_s - _GRACE_S - time.monotonic())
    _run([*command, *words, str(tests)], given.into / "pytest.txt", patience_s)


def _run(command: Sequence[str], log: Path, patience_s: float) -> int:
    """Run a command for so long at most, then interrupt it; what it prints goes to a file."""
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        try:
            return process.wait(patience_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.send_signal(signal.SIGINT)
            try:
                return process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()


def report(into: Path) -> str:
    """What the folder has: the fastest kernel of each arm beside PyTorch's, failures, verdicts."""
    torch = _torch(into / "torch.txt")
    labels = {case.id: label for label, case in SHAPES.items()}
    rows, failures = [], Counter[tuple[str, str]]()
    for case, rounds in _searched(into):
        name = labels.get(case.case, case.case)
        flops = case.tasks[0].flops
        best_s: defaultdict[str, list[float]] = defaultdict(list)
        spent_s: Counter[str] = Counter()
        tried: Counter[str] = Counter()
        for one in rounds:
            spent_s[one.strategy] += one.round.search_s
            for trial in one.trials:
                tried[one.strategy] += 1
                if trial.latency_s is None:
                    failures[one.strategy, f"{trial.status}: {trial.error[:90]}"] += 1
                else:
                    best_s[one.strategy].append(trial.latency_s)
        vendor_s = torch.get("seconds", {}).get(name)
        for strategy in tried:
            fastest = min(best_s[strategy], default=None)
            rows.append(
                {
                    "case": name,
                    "strategy": strategy,
                    "trials": tried[strategy],
                    "valid": len(best_s[strategy]),
                    "search s": spent_s[strategy],
                    "best us": None if fastest is None else 1e6 * fastest,
                    "GFLOP/s": None if fastest is None else flops / fastest / 1e9,
                    "over PyTorch": vendor_s / fastest if vendor_s and fastest else None,
                }
            )
    parts = [tabulate(rows, headers="keys", floatfmt=".4g")]
    if torch:
        parts.append("\n".join(f"{key}: {value}" for key, value in torch.items()))
    if failures:
        told = [(count, *who) for who, count in failures.most_common(20)]
        parts.append(tabulate(told, headers=["failures", "strategy", "cause"]))
    printed = into / "pytest.txt"
    if printed.exists():
        parts.append(printed.read_text(encoding="utf-8", errors="replace")[-6000:])
    return "\n\n".join(parts)


def _searched(into: Path) -> Iterator[tuple[CaseEntry, list[RoundEntry]]]:
    """Each case of the newest journal, and its rounds."""
    journals = sorted(into.rglob("*.jsonl*"), key=lambda path: path.stat().st_mtime)
    if not journals:
        return
    entries = read_journal(journals[-1]).entries
    for case in entries:
        if isinstance(case, CaseEntry):
            rounds = [one for one in entries if isinstance(one, RoundEntry)]
            yield case, [one for one in rounds if one.label == case.label]


def _torch(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return {}
    return found


if __name__ == "__main__":
    main()
