"""Other libraries take turns with kernels, each in a process of its own, which may fail."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ansorbench.measure.arguments import dump_check
from pytest_ansorbench.measure.program import Foreign, Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.workloads import (
    BatchMatmul,
    Check,
    Mlp,
    from_exported_program,
    from_onnx,
)
from pytest_ansorbench.workloads.networks.imported import from_module
from pytest_ansorbench.yardsticks import PeerProgram, check_peer, peer_program
from pytest_ansorbench.yardsticks import peers as module
from pytest_ansorbench.yardsticks.kernel import NoKernel, require_installed
from pytest_ansorbench.yardsticks.peer_main import PeerMain
from pytest_ansorbench.yardsticks.sources import data_check, source_of
from pytest_ansorbench.yardsticks.torch_kernels import eager_kernel, export
from tests.bound import takes_two_cpus
from tests.faults import Doubling

MATMUL = BatchMatmul(batch=3, m=70, n=64, k=128)  # of a shape that is not listed
SHORT = SideBySide(slice_ms=1.0, precision=0.0, turns=Span(3, 3), sets=Span(1, 1))


def peer(name: Any, folder: Path, case: Any = MATMUL, check: Check | None = None) -> PeerProgram:
    check = check or MATMUL.check()
    return peer_program(name, case, check, device="cpu", threads=1, cores=None, folder=folder)


def measured(engine: Any, *peers: PeerProgram) -> list[Remeasurement]:
    """Peers in turn with a kernel, which has not failed whatever they do."""
    own = Program.operator(MATMUL.tasks()[0].mod)
    programs = [own, *(one.program for one in peers)]
    first, *others = engine.measure_side_by_side(programs, MATMUL.check(), SHORT)
    assert first.status == "ok", first.error
    return others


def test_they_take_turns_with_a_kernel(engine, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    names = ("onnxruntime", "numpy")
    peers = [peer(name, tmp_path) for name in names]
    for one, found in zip(peers, measured(engine, *peers), strict=True):
        record = one.record(found)
        assert (record.final.status, record.final.error) == ("ok", "")
        assert record.version and record.implementation in names
        assert record.final.sets == (0, 0, 0)
        assert 1e-6 < record.final.latency_s < 1.0
    assert (tmp_path / "model.onnx").exists()


def test_what_fails_is_told_in_a_sentence(engine, tmp_path: Path, monkeypatch) -> None:
    right = MATMUL.check()
    wrong = peer("numpy", tmp_path, check=dataclasses.replace(right, expected=right.expected + 1.0))
    own = peer("numpy", tmp_path, case=Doubling())
    lacking = peer("numpy", tmp_path, case=Mlp())
    monkeypatch.setattr(module, "_MAIN", "no_such_module")
    dead = peer("numpy", tmp_path)
    outcomes = measured(engine, wrong, own, lacking, dead)
    assert [one.status for one in outcomes] == ["wrong-result", *["build-error"] * 3]
    assert "elements differ from the reference" in outcomes[0].error
    assert outcomes[1].error == (
        "it cannot be exported: it is neither a case that ships with the package nor an .onnx or "
        ".pt2 file nor a module of PyTorch's"
    )
    assert outcomes[2].error == "numpy has kernels of single operators only"
    assert "No module named no_such_module" in outcomes[3].error


CRASHES = """
import json, os, signal, socket, sys
from pytest_ansorbench.measure.local.channel import Channel, answer
channel = Channel(socket.socket(fileno=int(sys.argv[1])))
def dies(**message):
    os.kill(os.getpid(), signal.SIGSEGV)
answer(channel, {"build": lambda **message: {}, "arguments": lambda **message: {}, "call": dies})
"""


def test_one_that_crashes_is_out(engine, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "crashes.py").write_text(CRASHES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    program = Foreign("crashes", (), {}, MATMUL.check())
    [found] = measured(engine, PeerProgram("torch", "1", program))
    assert (found.status, found.error) == ("run-error", "worker died of SIGSEGV")


def test_a_library_that_is_not_there_is_told() -> None:
    require_installed("numpy")
    with pytest.raises(NoKernel, match=r"pip install 'pytest-ansorbench\[nonesuch\]'"):
        require_installed("nonesuch")


def test_a_network_is_nothing_for_numpy() -> None:
    check_peer("numpy", MATMUL)
    with pytest.raises(NoKernel, match=r"^numpy has kernels of single operators only$"):
        check_peer("numpy", Mlp())


@pytest.mark.parametrize("library", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("needed", ["torch", "onnx"])
def test_what_is_to_be_exported_needs_what_exports_it(
    monkeypatch, library: Any, needed: str
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, needed, None)
    check_peer(library, from_onnx("own.onnx"))
    with pytest.raises(NoKernel, match=f"^{needed} is not installed: "):
        check_peer(library, Mlp())


BUILDS = """
import json, os, sys
from pytest_ansorbench.yardsticks.peer_main import PeerMain
PeerMain(json.loads(sys.argv[1])).build(sys.stdin.buffer.read())
threads = map(int, os.listdir("/proc/self/task"))
print([sorted(os.sched_getaffinity(thread)) for thread in threads])
"""


@takes_two_cpus
def test_every_thread_is_on_the_cores() -> None:
    core = max(os.sched_getaffinity(0))
    asked = {**request("numpy", MATMUL), "cores": [core]}
    done = subprocess.run(
        [sys.executable, "-c", BUILDS, json.dumps(asked)],
        input=dump_check(data_check(MATMUL, MATMUL.check())),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == [[core], [core]]


@pytest.mark.slow
def test_a_user_s_own_files_are_what_is_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    layer = torch.nn.Linear(4, 3).eval()
    data = np.arange(8, dtype=np.float32).reshape(2, 4)
    exported = torch.export.export(layer, (torch.from_numpy(data),))
    torch.export.save(exported, tmp_path / "layer.pt2")
    expected = layer(torch.from_numpy(data)).detach().numpy()
    weights = tuple(one.detach().numpy() for one in layer.parameters())
    check = Check((data, *weights), expected, 1e-5, 1e-5)
    as_exported = from_exported_program(tmp_path / "layer.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch to itself
        export(source_of(as_exported), (data,), tmp_path / "layer.onnx")
        compare("torch", as_exported, check)
    compare("onnxruntime", from_onnx(tmp_path / "layer.onnx"), check)


def test_a_module_of_pytorch_s_is_exported_for_them(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout()).train()
    data = np.arange(8, dtype=np.float32).reshape(2, 4)
    case = from_module(layer, example_inputs=(torch.from_numpy(data),))
    weights = tuple(one.detach().numpy() for one in layer.parameters())
    check = Check((data, *weights), data @ weights[0].T + weights[1], 1e-5, 1e-5)
    check_peer("torch", case)
    [text] = peer("torch", tmp_path, case=case, check=check).program.arguments
    main = PeerMain({**json.loads(text), "cores": []})
    main.build(dump_check(data_check(case, check)))
    assert main.check() == {"wrong": ""} and layer.training


def compare(implementation: str, case: Any, check: Check) -> None:
    """What another library computes."""
    main = built(implementation, case, check)
    assert main.check() == {"wrong": ""}
    [seconds] = main.time(2, 1, 1)["seconds"]
    assert seconds > 0.0


def built(implementation: str, case: Any, check: Check) -> PeerMain:
    """Another library, in this process."""
    main = PeerMain(request(implementation, case))
    main.build(dump_check(data_check(case, check)))
    return main


def request(implementation: str, case: Any) -> dict[str, Any]:
    return {
        "implementation": implementation,
        "source": source_of(case),
        "refused": "",
        "device": "cpu",
        "threads": 1,
        "cores": [],
        "folder": "nowhere",
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
def test_what_is_compiled_at_a_first_call_is_no_time_of_a_call(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    main = built("torch-compile", MATMUL, MATMUL.check())
    assert 0.0 < main.call()["seconds"] < 0.1
    assert main.check() == {"wrong": ""}


def test_without_a_gpu_torch_computes_on_none() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(NoKernel, match=r"sees no CUDA device: install one built for CUDA$"):
        eager_kernel(source_of(MATMUL), MATMUL.check().inputs, 1, "cuda")


def test_torch_reads_no_onnx_file() -> None:
    with pytest.raises(NoKernel, match=r"^torch does not read model\.onnx: give it a \.pt2 file$"):
        eager_kernel({"file": "model.onnx", "shapes": {}}, (), 1)
