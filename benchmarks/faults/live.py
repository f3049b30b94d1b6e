"""Live sessions that something is done to, and what has to hold afterwards."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
from judge import commanded
from ledger import SURVIVED, Ledger, Outcome

from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import (
    CutShortError,
    StorageError,
    list_journals,
    list_saved,
    read_journal,
    read_result,
)

ROOT: Final = Path(__file__).parents[2]
SESSION_S: Final = 600.0
"""After which a session hangs."""
MARK: Final = "ANSOR_FAULTS_SESSION"
"""The variable that all processes of a session inherit."""
KINDS: Final[Mapping[str, Sequence[str]]] = {
    "operator": ("-k", "operator"),
    "network": ("-k", "network"),
    "cluster": ("-k", "operator", "--ansor-cluster=local:1"),
}
"""Sessions, and the words that make them."""
CASES: Final = {
    "operator": "matmul-b1-m32-n32-k32",
    "network": "mlp-n1-i32-h16x16-o8",
    "cluster": "matmul-b1-m32-n32-k32",
}
STRATEGIES: Final = ("raced", "compared")
TRIALS: Final = 8
REPEATS: Final = 2
_WORDS: Final = (
    "--ansor-bench",
    "--ansor-noise-check=0",
    f"--ansor-strategy={','.join(STRATEGIES)}",
    f"--ansor-trials={TRIALS}",
    "--ansor-round=2",
    f"--ansor-repeats={REPEATS}",
    "--ansor-final-turns=3",
    "--ansor-final-sets=2",
    "--ansor-json=result.json",
    "--ansor-save=main",
    "-q",
)
_TESTS: Final = """
import pytest
from pytest_ansorbench import workloads

CASES = {
    "operator": workloads.BatchMatmul(batch=1, m=32, n=32, k=32),
    "network": workloads.Mlp(features=32, hidden=(16, 16), classes=8),
}

@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it(ansor_bench, case):
    ansor_bench(case)
"""
_CONFTEST: Final = """
from dataclasses import replace
from pytest_ansorbench.strategies import PairedMeasurement, RacingMeasurement, Registry

RACE = RacingMeasurement(brief_ms=2, full_ms=10)

def pytest_ansorbench_strategies(config):
    random = Registry().get("random")
    return [
        replace(random, name="raced", measurement=RACE),
        replace(random, name="compared", measurement=PairedMeasurement(RACE, slice_ms=1)),
    ]
"""
_OURS: Final = re.compile(r"\..*\.(tmp|reserved)")
_SERVER: Final = "fork_server_main"
_PATIENCE_S: Final = 30.0
"""After a kill: a fork server that imports TVM at that moment finds out when it has done so."""


@dataclass
class Live:
    """A project in a folder, and its session, which begins again as often as it has to.

    Attributes:
        root: The folder.
        kind: Which session, a key of `KINDS`.
        mark: What tells its processes from all others.
        process: The session; None before it starts.
    """

    root: Path
    kind: str
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    process: subprocess.Popen[bytes] | None = None
    lives: int = 0
    seen: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.project.mkdir(exist_ok=True)
        (self.project / "test_cases.py").write_text(_TESTS)
        (self.project / "conftest.py").write_text(_CONFTEST)

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def storage(self) -> Path:
        return self.project / ".ansor_bench"

    def command(self) -> Sequence[str]:
        """The module that is run, and its words: a session, resumed if there is one to resume."""
        resumes = ("--ansor-resume",) if self.unfinished() else ()
        blocked = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
        return ("pytest", *_WORDS, *KINDS[self.kind], *blocked, *resumes)

    def start(self) -> None:
        """Begin, or go on if there is something to go on with."""
        command = self.command()
        self.lives += 1
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self.project,
                env={
                    **os.environ,
                    MARK: self.mark,
                    "TMPDIR": str(self.temporary),
                    "PYTHONPATH": str(ROOT / "tests" / "plugin" / "without_torch"),
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> Path:
        return self.root / f"life-{self.lives}.txt"

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        assert self.process is not None
        return self.process.poll()

    def victims(self, which: str) -> list[psutil.Process]:
        """Processes of this life by what they are.

        Args:
            which: `all`, `main`, `server`, `candidate` (which has begun to run a kernel), `builder`
                (any other child of the fork server) or `worker`, of a cluster.
        """
        assert self.process is not None
        if which == "main":
            return [psutil.Process(self.process.pid)] if self.code is None else []
        if which == "all":
            return _marked(self.mark)
        found = []
        for process in _children(self.process.pid):
            with contextlib.suppress(psutil.Error):
                if which in _roles(process):
                    found.append(process)
        return found

    def unfinished(self) -> bool:
        """Whether there is a journal to go on with."""
        for path in list_journals(self.storage):
            with contextlib.suppress(StorageError):
                if not read_journal(path).finished:
                    return True
        return False

    def journaled(self) -> dict[str, bytes]:
        """The complete lines of each journal, by its name."""
        found = {}
        for path in list_journals(self.storage):
            name = path.name.removesuffix(".gz")
            content = (
                gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            )
            found[name] = content[: content.rfind(b"\n") + 1]
        return found

    def lines(self) -> int:
        """Complete lines of all journals."""
        return sum(content.count(b"\n") for content in self.journaled().values())

    def ends(self, deadline_s: float) -> bool:
        """Wait for its end; False if it does not come in time, and then it is ended."""
        while self.code is None:
            if time.monotonic() > deadline_s:
                end(self.mark)
                return False
            time.sleep(0.05)
        return True

    def rounds(self) -> int:
        """Rounds that all journals hold."""
        return sum(content.count(b'{"kind":"round"') for content in self.journaled().values())

    def faults_after_kill(self) -> Iterator[str]:
        """What a session that was killed has left behind, or has spoilt."""
        if left := left_running(self.mark):
            yield f"left running: {'; '.join(left)}"
            end(self.mark)
        # Dask's own, which it clears when it starts again.
        if names := [n for n in left_files(self.temporary) if not n.startswith("dask-scratch")]:
            yield f"left in the temporary folder: {', '.join(names)}"
        if names := [name for name in left_files(self.project) if _OURS.fullmatch(Path(name).name)]:
            yield f"left in the project: {', '.join(names)}"
        yield from self.faults_of_files()

    def faults_of_files(self) -> Iterator[str]:
        """Whether what was written is still there and can be read by every command."""
        now = self.journaled()
        yield from lost_lines(self.seen, now)
        self.seen = now
        readable = False
        for path in list_journals(self.storage):
            try:
                read_journal(path)
                readable = True
            except CutShortError:
                pass
            except StorageError as error:
                yield f"cannot be read: {error}"
        words = [["list"], ["clean"], *([["watch", "--once"]] if readable else [])]
        for word in words:
            if fault := self._refused([*word, "--storage", str(self.storage)]):
                yield f"ansor-bench {word[0]}: {fault}"

    def _refused(self, words: Sequence[str]) -> str:
        """What is wrong with a command of results; empty if it does what it is asked."""
        try:
            code, shown, said = commanded(words)
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        return "" if code == 0 else f"exit code {code}: {(shown + said)[-300:]}"

    def faults_at_end(self, failed_trials: int) -> Iterator[str]:
        """What is wrong with a session that has ended."""
        if self.code != 0:
            yield f"exit code {self.code}: {self.last_words()}"
        yield from self.faults_after_kill()
        stored = list_saved(self.storage)
        if not stored:
            yield "no result is stored"
        for path in (self.project / "result.json", *stored[-1:]):
            try:
                result = read_result(path)
            except StorageError as error:
                yield str(error)
                continue
            yield from wrong_result(result, CASES[self.kind], failed_trials)
        if self.unfinished():
            yield "a journal says that the session can be resumed"

    def last_words(self) -> str:
        """The end of what the session printed that says why."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        told = [line for line in lines if line.startswith(("E ", "ERROR", "FAILED", "INTERNAL"))]
        return " | ".join((told or lines)[-3:])[:500]


def left_running(mark: str, patience_s: float = _PATIENCE_S) -> list[str]:
    """Processes of a session that are there after a time in which they should have ended."""
    deadline_s = time.monotonic() + patience_s
    while True:
        left = [_told(process) for process in _marked(mark)]
        if not left or time.monotonic() > deadline_s:
            return left
        time.sleep(0.05)


def _told(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return f"{process.pid} {process.status()} {' '.join(process.cmdline())[-120:]}"
    return str(process.pid)


def end(mark: str) -> None:
    """Kill all processes of a session."""
    for process in _marked(mark):
        with contextlib.suppress(psutil.Error):
            process.kill()


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def left_files(folder: Path) -> list[str]:
    """All files in a folder, by their paths in it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def lost_lines(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """Journals whose lines of before are not all there, as they were."""
    for name, lines in before.items():
        now = after.get(name, b"")
        if not now.startswith(lines):
            were = lines.splitlines()
            pairs = zip(were, now.splitlines(), strict=False)
            kept = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
            yield f"{name} has {kept} of its {len(were)} lines"


def wrong_result(result: Result, case: str, failed_trials: int) -> Iterator[str]:
    """What of a result is not as the session was told.

    Args:
        result: The result.
        case: The id of its only case.
        failed_trials: How many trials may have failed.
    """
    if [one.case for one in result.cases] != [case]:
        yield f"expected the case {case}, got {[one.case for one in result.cases]}"
        return
    runs = result.cases[0].runs
    wanted = [(seed, name) for seed in range(REPEATS) for name in STRATEGIES]
    got = [(run.seed, run.strategy) for run in runs]
    if sorted(got) != sorted(wanted):
        yield f"expected the runs {wanted}, got {got}"
    failed = 0
    for run in runs:
        who = f"{run.strategy}, seed {run.seed}"
        indices = [trial.index for trial in run.trials]
        if indices != [*range(TRIALS)]:
            yield f"{who}: expected trials 0 to {TRIALS - 1}, got {indices}"
        failed += sum(trial.status != "ok" for trial in run.trials)
        if run.final.status != "ok":
            yield f"{who}: its winner {run.final.status}: {run.final.error}"
    if failed > failed_trials:
        errors = {trial.error for run in runs for trial in run.trials if trial.status != "ok"}
        yield f"{failed} trials failed and not at most {failed_trials}: {'; '.join(errors)}"


def _children(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def _roles(process: psutil.Process) -> tuple[str, ...]:
    words = " ".join(process.cmdline())
    if _SERVER in words:
        parent = process.parent()
        if parent is None or _SERVER not in " ".join(parent.cmdline()):
            return ("server",)
        return ("candidate",) if process.num_threads() > 1 else ("builder",)
    return ("worker",) if "spawn_main" in words else ()


def killed(process: psutil.Process) -> bool:
    """Kill a process at once; whether it was there."""
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.Error:
        return False
    return True


Done = tuple[int, str, Sequence[str], float]
"""What was done in a session: its index, what it was, what was wrong after it, its seconds."""
OneSession = Callable[[Path, int, Sequence[int], float], Sequence[Outcome]]
"""Carries out one session in a folder, from a seed, with some trials of these indices; so many
times sooner than they were drawn, as an earlier one was over before the first came."""


def outcomes_of(
    campaign: str, seed: int, first: int, done: Sequence[Done], at_end: Sequence[str]
) -> list[Outcome]:
    """The outcomes of what was done in a session, which share what is wrong at its end.

    One that came to no harm before anything was done to it has none.
    """
    if not done and at_end:
        done = [(first, "nothing", (), 0.0)]
    outcomes = []
    for index, what, faults, seconds in done:
        told = "; ".join([*faults, *(f"at the end: {fault}" for fault in at_end)])
        verdict = "fault" if told else SURVIVED
        outcomes.append(Outcome(campaign, index, seed, what, verdict, told, round(seconds, 2)))
    return outcomes


def carry_out(doc: str | None, campaign: str, trials: int, one_session: OneSession) -> int:
    """A campaign's command: sessions, until there are outcomes enough.

    Args:
        doc: Of the script.
        campaign: Its name, after which its ledger is called unless told otherwise.
        trials: How many there are unless told otherwise.
        one_session: Carries out one session.

    Returns:
        0 if all survived.
    """
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--into", type=Path, default=Path(f"{campaign}.jsonl"))
    parser.add_argument("--trials", type=int, default=trials, help=f"default: {trials}")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    ledger, haste, code = Ledger(given.into), 1.0, 0
    while missing := [index for index in range(given.trials) if index not in ledger.done]:
        folder = Path(tempfile.mkdtemp(prefix=f"ansor-{campaign}-"))
        outcomes = one_session(folder, given.seed, missing, haste)
        haste = 1.0 if outcomes else 2.0 * haste
        for outcome in outcomes:
            ledger.add(outcome)
            print(f"{outcome.index}: {outcome.what}: {outcome.verdict} {outcome.told}", flush=True)
        if all(outcome.verdict == SURVIVED for outcome in outcomes):
            shutil.rmtree(folder)
        else:
            code = 1
            print(f"kept: {folder}", flush=True)
    return code
