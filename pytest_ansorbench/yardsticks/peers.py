"""Other libraries that compute a case, as programs that an engine measures beside its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cores import pinned_to
from pytest_ansorbench.measure.program import Foreign
from pytest_ansorbench.records import Implementation, Peer, Remeasurement
from pytest_ansorbench.yardsticks.kernel import NoKernel, library_of, require_installed
from pytest_ansorbench.yardsticks.sources import (
    ONNX,
    Source,
    data_check,
    file_of,
    module_of,
    require_operator,
    source_of,
    torch_file,
)

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Case, Check
    from pytest_ansorbench.workloads.networks.kernelbench import KernelBenchFile
    from pytest_ansorbench.workloads.networks.sources import TorchModule

_MAIN: Final = "pytest_ansorbench.yardsticks.peer_main"
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, eq=False)
class PeerProgram:
    """A case in another library."""

    implementation: Implementation
    version: str  # empty if it is not installed
    program: Foreign

    def record(self, measured: Remeasurement) -> Peer:
        """What a run keeps of it."""
        return Peer(self.implementation, self.version, measured)


def check_peer(implementation: Implementation, case: Case) -> None:
    """Check that a library can be given a case, before anything is computed.

    Raises:
        NoKernel: It computes no such cases, or what exports the case for it is not installed.
    """
    library = library_of(implementation)
    source: Source = source_of(case) if module_of(case) is None else {}
    if library == "numpy":
        require_operator(case)
    elif library == "torch":
        if "file" in source:
            torch_file(source)
    elif file_of(source, ONNX) is None:
        for needed in ("torch", "onnx"):
            require_installed(needed)


def peer_program(
    implementation: Implementation,
    case: Case,
    check: Check,
    *,
    device: str,
    threads: int,
    cores: Sequence[int] | None,
    folder: Path,
) -> PeerProgram:
    """A case in another library, on as many threads and the same cores as kernels have.

    What keeps it from being one, the engine tells once it is to be built.

    Args:
        implementation: Whose it is.
        case: The case.
        check: What it is called with, and what it is to compute.
        device: What it computes on, `cpu` or `cuda`.
        threads: Its threads.
        cores: Cores that it may run on; None for those that kernels have by default.
        folder: Where it may keep files, one for each case; all libraries read the same.
    """
    request: dict[str, Any] = {
        "implementation": implementation,
        "source": None,
        "refused": "",
        "device": device,
        "threads": threads,
        "cores": [*(pinned_to(cores, threads) or ())],
        "folder": str(folder),
    }
    try:
        module = module_of(case)
        request["source"] = source_of(case) if module is None else _saved(module, folder)
        check = data_check(case, check)
    except NoKernel as reason:
        request["refused"] = str(reason)
    environment = {
        **dict.fromkeys(_THREADS, str(threads)),
        # A set of processes need not compile what the one before it has.
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        # Else it leaves processes behind that compile.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    try:
        version = metadata.version(library_of(implementation))
    except metadata.PackageNotFoundError:
        version = ""
    program = Foreign(_MAIN, (json.dumps(request),), environment, check)
    return PeerProgram(implementation, version, program)


def _saved(module: TorchModule | KernelBenchFile, folder: Path) -> Source:
    """The file in a folder that a module is exported to, if it is not there yet."""
    import torch

    path = folder / "module.pt2"
    if not path.exists():
        torch.export.save(module.exported(), path)
    return {"file": str(path), "shapes": {}}
