"""Machines: told apart by what decides the speed of a kernel, with what each can do at most."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.codec import from_json, parse_json, to_json
from pytest_ansorbench.records import MachinePeak, Operands
from pytest_ansorbench.storage.files import UnwritableError, written_whole

PEAKS: Final = "peaks"
"""The folder of what machines can do at most."""

#: What decides how fast a kernel can be, and stays as it is: no clock speed of the moment, no
#: free memory, no release of a kernel that was updated overnight. Versions of packages are not
#: in it either: to compare those on one machine is what results are kept for.
_STABLE: Final = ("system", "machine", "cpu", "logical_cores", "physical_cores", "target")


def fingerprint(machine: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits, equal for machines that may be expected to be equally fast."""
    return digest([*_stable(machine).values()])


def digest(values: Sequence[Any]) -> str:
    """Twelve hexadecimal digits, equal for equal values."""
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def machine_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Say in what two machines differ, as far as fingerprints do, e.g. `cpu: A is now B`."""
    then, now = _stable(one), _stable(other)
    return "; ".join(
        f"{key}: {then.get(key)} is now {now.get(key)}"
        for key in {**then, **now}
        if then.get(key) != now.get(key)
    )


def package_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Say which packages of two machines differ, e.g. `xgboost 2.1.4 is now 3.0.0`.

    Those of their other toolchains count too, and none that only one of the two tells of.
    """
    then, now = _packages(one), _packages(other)
    return "; ".join(
        f"{name} {version} is now {now[name]}"
        for name, version in then.items()
        if name in now and version != now[name]
    )


def _packages(machine: Mapping[str, Any]) -> dict[str, Any]:
    others = {f"{name}'s ": one for name, one in machine.get("toolchains", {}).items()}
    return {
        f"{whose}{name}": version
        for whose, one in {"": machine, **others}.items()
        for name, version in (one.get("packages") or {}).items()
    }


def _stable(machine: Mapping[str, Any]) -> dict[str, Any]:
    """What a machine's speed hangs on; of one that measures on a GPU also which."""
    stable = {key: machine.get(key) for key in _STABLE}
    gpu = machine.get("gpu")
    return {**stable, "gpu": gpu.get("name")} if isinstance(gpu, Mapping) else stable


def read_peak(
    storage_dir: Path, machine: str, operands: Operands, cores: Sequence[int] | None = None
) -> MachinePeak | None:
    """The peak of a machine's cores, if it was measured before and can be read.

    None for the cores stands for those that TVM chooses.
    """
    with contextlib.suppress(OSError, ValueError, RecursionError):
        text = _path(storage_dir, machine, operands, cores).read_text(encoding="utf-8")
        return from_json(MachinePeak, parse_json(text))
    return None


def write_peak(
    storage_dir: Path, machine: str, peak: MachinePeak, cores: Sequence[int] | None = None
) -> None:
    path = _path(storage_dir, machine, peak.operands, cores)
    try:
        with written_whole(path) as stream:
            stream.write(json.dumps(to_json(peak), indent=1).encode("utf-8"))
    except OSError as error:
        raise UnwritableError(
            f"cannot keep the machine's peak in {str(path)!r}: {error.strerror}"
        ) from None


def _path(storage_dir: Path, machine: str, operands: Operands, cores: Sequence[int] | None) -> Path:
    pinned = "" if cores is None else f"-{digest([*cores])}"
    return storage_dir / PEAKS / f"{machine}-{operands}{pinned}.json"
