"""Good files of every kind, for campaigns to damage.

    python benchmarks/faults/seeds.py FOLDER

A result and the journal of its session, which was interrupted in its second case, are kept in
`good/`. All others are made of them, or anew. In a process of its own: what libraries compute
leaves threads behind, which a process that forks must not have.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.cli import main as command
from pytest_ansorbench.records import Bandwidth, MachinePeak
from pytest_ansorbench.storage import read_journal, write_peak
from pytest_ansorbench.strategies import load_program_model
from pytest_ansorbench.training.arrays import save_arrays
from pytest_ansorbench.training.programs import programs_of

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent.parent
GOOD: Final = HERE / "good"
MODELS: Final = ROOT / "pytest_ansorbench" / "models"


@contextlib.contextmanager
def seeds() -> Iterator[Path]:
    """A folder of good files."""
    with tempfile.TemporaryDirectory(prefix="ansor-seeds-") as folder:
        subprocess.run([sys.executable, __file__, folder], check=True)
        yield Path(folder)


def main() -> None:
    """Make all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where they are made")
    into = parser.parse_args().folder
    into.mkdir(parents=True, exist_ok=True)
    _copied(into)
    _stored(into)
    _models(into)
    _arrays(into)
    _onnx(into)
    _exported(into)
    print(*(f"{path.relative_to(into)}" for path in sorted(into.rglob("*")) if path.is_file()))


def _copied(into: Path) -> None:
    for name in ("result.json", "journal.jsonl"):
        shutil.copy(GOOD / f"{name}.gz", into)
        (into / name).write_bytes(gzip.decompress((GOOD / f"{name}.gz").read_bytes()))
    for name in ("draft.ubj", "draft.card.json", "rules.ubj", "rules.card.json"):
        shutil.copy(MODELS / name, into)
    rules = ROOT / "docs" / "results" / "rule-samples" / "add-relu-scale-m49-n2048.npz"
    shutil.copy(rules, into / "rule-samples.npz")


def _stored(into: Path) -> None:
    """Results, journals, a database, the peak of a machine, a file of pytest-benchmark's."""
    ended = (into / "journal.jsonl").read_bytes() + b'{"kind":"end","cases":1}\n'
    (into / "ended.jsonl").write_bytes(ended)
    result = json.loads((into / "result.json").read_bytes())
    for case in result["cases"]:
        case["runs"] = case["runs"][:2]
    (into / "small.json").write_text(json.dumps(result), encoding="utf-8")
    for name in ("ended.jsonl", "small.json"):
        (into / f"{name}.gz").write_bytes(gzip.compress((into / name).read_bytes(), mtime=0))
    # Of a case that ships, which `import` looks for.
    shipped = str(ROOT / "docs" / "results" / "control-softmax.json.gz")
    assert command(["export", shipped, "--database", str(into / "database"), "--top=3"]) == 0
    peak = MachinePeak(
        "2024-01-02T03:04:05", 100.0, (Bandwidth("L1", 1024, 90.0), Bandwidth("L2", 4096, 50.0))
    )
    write_peak(into, "peak", peak)
    statistics = dict.fromkeys(("min", "max", "mean", "stddev", "median", "ops"), 0.5)
    benchmark = {"group": None, "name": "test_x", "params": None, "stats": statistics}
    of_others = {"machine_info": {"node": "x"}, "commit_info": {}, "benchmarks": [benchmark] * 3}
    (into / "benchmark.json").write_text(json.dumps({**of_others, "version": "5.2.3"}))


def _models(into: Path) -> None:
    """A small model, its experience and its card, out of what the journal has measured."""
    programs = next(programs_of(read_journal(into / "journal.jsonl"), lambda case: None))
    save_arrays(programs, into / "samples.npz")
    model = into / "program.ubj"
    words = ["train-draft", "--from", str(into / "samples.npz"), "--trees=3", "-o", str(model)]
    assert command(words) == 0
    (into / "program.npz").rename(into / "experience.npz")
    load_program_model(model).save(into / "plain.json")


def _arrays(into: Path) -> None:
    import numpy as np

    np.savez(into / "inputs.npz", x=np.ones((2, 3), np.float32), y=np.arange(4, dtype=np.int64))


def _onnx(into: Path) -> None:
    """A small convolution, and a perceptron."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)

    def save(name: str, shape: list[int], nodes: list[Any], weights: dict[str, list[int]]) -> None:
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [
                numpy_helper.from_array(rng.normal(size=size).astype(np.float32), weight)
                for weight, size in weights.items()
            ],
        )
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        onnx.save(model, str(into / f"{name}.onnx"))

    layers = [
        helper.make_node("Conv", ["x", "kernel"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["c"], ["d"]),
        helper.make_node("MatMul", ["d", "matrix"], ["y"]),
    ]
    save("one", [1, 2, 8, 8], layers, {"kernel": [4, 2, 3, 3], "matrix": [16, 3]})
    layers = [
        helper.make_node("Gemm", ["x", "w", "b"], ["a"], transB=1, alpha=0.5),
        helper.make_node("Softmax", ["a"], ["s"], axis=-1),
        helper.make_node("Transpose", ["s"], ["y"], perm=[1, 0]),
    ]
    save("two", [4, 8], layers, {"w": [6, 8], "b": [6]})


def _exported(into: Path) -> None:
    """A small convolution, and a perceptron."""
    import torch

    class One(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(2, 4, 3)
            self.norm = torch.nn.BatchNorm2d(4)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.norm(self.conv(x))).flatten(1)

    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.Linear(8, 6)
            self.scale = torch.full((6,), 2.0)

        def forward(self, x: Any) -> Any:
            return torch.softmax(self.dense(x) * self.scale, -1)

    for name, model, shape in (("one", One(), (1, 2, 8, 8)), ("two", Two(), (4, 8))):
        program = torch.export.export(model.eval(), (torch.zeros(shape),))
        torch.export.save(program, into / f"{name}.pt2")


if __name__ == "__main__":
    main()
