"""What `ansor-bench tune` makes of networks, beside other libraries.

    python benchmarks/tuned.py [--case ID,ID] [--rewrite NAME,NAME] [--trials N/task] [--seed N]
                               [--against LIBRARY,LIBRARY] [--into FILE]

Each network is written as PyTorch has it (`torch.export.save`) and tuned from that file, once for
each rewrite, beside ONNX Runtime, OpenVINO and PyTorch. The sentences that the command ends with
are added to docs/results/tuned.txt, results are kept in docs/results/tuned/. How latency falls over
the seconds:

    ansor-bench plot latency-time docs/results/tuned/NETWORK-REWRITE-SEED.json.gz -o NETWORK.svg
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch
from sessions import RESULTS

from pytest_ansorbench import workloads
from pytest_ansorbench.options.declarations import TUNING_REWRITE, TUNING_TRIALS
from pytest_ansorbench.winners import winners_of_case
from pytest_ansorbench.workloads.case import NetworkCase
from pytest_ansorbench.workloads.given import case_of
from pytest_ansorbench.workloads.networks.apply import with_schedules
from pytest_ansorbench.workloads.networks.graph import draw_weights
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.networks.rewrites import rewrite_named
from pytest_ansorbench.workloads.networks.to_torch import to_torch
from pytest_ansorbench.yardsticks.sources import laid_out, source_of

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.records import CaseResult

NETWORKS: Final = ",".join(
    (
        *("resnet18-n1-s224", "resnet50-n1-s224", "mobilenetv2-n1-s224"),
        *("bert-layer-n1-l128-h768-a12", "vitb16-n1-s224"),
    )
)


def main() -> None:
    """Tune what is asked for, one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=NETWORKS)
    parser.add_argument("--rewrite", default=TUNING_REWRITE)
    parser.add_argument("--trials", default=TUNING_TRIALS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--against", default="onnxruntime,openvino,torch")
    parser.add_argument("--into", type=Path, default=RESULTS / "tuned.txt", metavar="FILE")
    given = parser.parse_args()
    for case in given.case.split(","):
        for rewrite in given.rewrite.split(","):
            kept = given.into.with_suffix("") / f"{case}-{rewrite}-{given.seed}.json.gz"
            words = ["--rewrite", rewrite, "--trials", given.trials, "--seed", str(given.seed)]
            told = tuned(case, [*words, "--against", given.against], kept)
            print(told, end="", flush=True)
            with given.into.open("a", encoding="utf-8") as stream:
                stream.write(told)


def tuned(name: str, words: Sequence[str], kept: Path) -> str:
    """The sentence on a network, and what was asked of `tune`; the result is kept."""
    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        model = Path(folder) / f"{name}.pt2"
        write(name, model)
        command = [sys.executable, "-m", "pytest_ansorbench.cli", "tune", str(model)]
        command += ["-o", str(Path(folder) / "tuned"), *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(folder) / "tuned" / "result.json.gz", kept)
    return f"{done.stdout.splitlines()[0]}; {' '.join(words)}\n"


def kept_results() -> Sequence[Path]:
    """What the default call has kept: a result of each network."""
    return sorted((RESULTS / "tuned").glob(f"*-{TUNING_REWRITE}-0.*"))


def as_tuned(name: str, folder: Path) -> NetworkCase:
    """A shipped network, as `tune` finds it in PyTorch's file, which is written to a folder."""
    model = folder / f"{name}.pt2"
    write(name, model)
    return case_of(str(model), rewrite=rewrite_named(TUNING_REWRITE))


def with_winners(case: CaseResult, network: NetworkCase) -> IRModule:
    """The program of a network with the winners of a result of it."""
    best = {winner.place: winner.candidate().mod for winner in winners_of_case(case)}
    tasks = network.tasks()
    return with_schedules(network.program(), tasks, [best.get(n) for n in range(len(tasks))])


def write(name: str, path: Path) -> None:
    """A shipped network as PyTorch has it, with its random weights."""
    case = workloads.get(name)
    if not isinstance(case, Network):
        raise SystemExit(f"bad --case {name!r}: expected networks, e.g. {NETWORKS}")
    graph = case.graph()
    module = to_torch(graph, draw_weights(graph, seed=name))
    arrays = case.arguments()[: len(case.input_shapes)]
    inputs = laid_out(source_of(case), arrays)
    tensors = tuple(torch.from_numpy(one.copy()) for one in inputs)
    torch.export.save(torch.export.export(module, tensors), path)


if __name__ == "__main__":
    main()
