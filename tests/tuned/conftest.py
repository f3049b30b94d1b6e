"""A folder with models to tune, in which commands are run, and an engine that takes no time."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.storage import list_journals, read_journal
from pytest_ansorbench.storage.entries import FinalEntry, RoundEntry
from tests.plugin.conftest import measuring_fast

MODELS = """
from pytest_ansorbench import workloads

def product():
    return workloads.BatchMatmul(batch=1, m=16, n=16, k=16)

def another():
    return workloads.BatchMatmul(batch=1, m=16, n=16, k=8)

def network():
    return workloads.Mlp(features=8, hidden=(4,), classes=2)

def empty():
    from types import SimpleNamespace

    return SimpleNamespace(id="empty", flops=1, tasks=lambda: ())

def dense():
    import numpy as np
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = relax.op.matmul(x, relax.const(np.ones((8, 16), np.float32)))
            y = builder.emit_output(builder.emit(y))
        builder.emit_func_output(y)
    return builder.get()

def open_shape():
    from tvm import relax, tirx

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((tirx.Var("n", "int64"), 4), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(x)))
    return builder.get()
"""


@dataclasses.dataclass(frozen=True)
class Place:
    """A folder with `models.py`; commands write to `out` in it."""

    root: Path

    @property
    def out(self) -> Path:
        return self.root / "out"

    def tune(self, *words: str) -> int:
        return main(["tune", *words, "-o", "out"])

    def quickly(self, *words: str) -> int:
        return self.tune(*words, "--strategy", "random")

    def past(self):
        """What the only journal has."""
        [journal] = list_journals(self.out)
        return read_journal(journal)

    def trials(self):
        """Those of all searches; what two of them have begun with counts once."""
        rounds = self.past().of(RoundEntry)
        found = {(entry.seed, repr(entry.round)): entry.trials for entry in rounds}
        return [trial for trials in found.values() for trial in trials]

    def finals(self):
        """What ended searches have come to, those before the last call first."""
        return self.past().of(FinalEntry)

    def files(self):
        return {path.name for path in self.out.iterdir() if path.is_file()}

    def database(self):
        from tvm.s_tir.meta_schedule.database import JSONDatabase

        return JSONDatabase(work_dir=str(self.out), allow_missing=False)


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "models.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TVM_NUM_THREADS", "1")
    yield Place(tmp_path)
    for name in ("models", "climbing"):
        sys.modules.pop(name, None)


@pytest.fixture
def fast_engine():
    """Sessions of this process compile and call kernels here, and make latencies up."""
    with measuring_fast():
        yield
