"""Tells machines apart by what decides the speed of a kernel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

#: What decides how fast a kernel can be, and stays as it is: no clock speed of the moment, no
#: free memory, no release of a kernel that was updated overnight. Versions of packages are not
#: in it either: to compare those on one machine is what results are kept for.
_STABLE: Final = ("system", "machine", "cpu", "logical_cores", "physical_cores", "target")


def fingerprint(machine: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits, equal for machines that may be expected to be equally fast."""
    stable = json.dumps([machine.get(key) for key in _STABLE], sort_keys=True, default=str)
    return hashlib.sha256(stable.encode()).hexdigest()[:12]


def machine_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Say in what two machines differ, as far as fingerprints do, e.g. `cpu: A is now B`."""
    return "; ".join(
        f"{key}: {one.get(key)} is now {other.get(key)}"
        for key in _STABLE
        if one.get(key) != other.get(key)
    )
