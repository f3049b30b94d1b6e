"""Tells a right kernel from a wrong one, and carries what is needed for that to a worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads.case import Check

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mismatch(output: NDArray[np.float32], check: Check) -> str:
    """Compare a kernel's output with the reference.

    Args:
        output: What the kernel wrote, shaped like `check.expected`.
        check: The reference and the tolerance: |output - expected| <= atol + rtol * |expected|.

    Returns:
        An empty string if all elements agree, else one sentence on the difference. An element
        that is not finite where the reference is finite never agrees.
    """
    expected = check.expected
    agrees = np.isclose(output, expected, rtol=check.rtol, atol=check.atol)
    if agrees.all():
        return ""
    worst = float(np.nanmax(np.abs(np.where(agrees, 0.0, output - expected))))
    return (
        f"{agrees.size - int(agrees.sum())} of {agrees.size} elements differ from the reference, "
        f"by up to {worst:.3g}"
    )


def save_check(check: Check, path: Path) -> None:
    """Write a check to an `.npz` file, for `load_check`."""
    arrays: dict[str, Any] = {f"input{i}": array for i, array in enumerate(check.inputs)}
    tolerance = np.array([check.rtol, check.atol])
    np.savez(path, expected=check.expected, tolerance=tolerance, **arrays)


def load_check(path: Path) -> Check:
    """Read what `save_check` wrote. Never unpickles."""
    with np.load(path, allow_pickle=False) as arrays:
        inputs = tuple(arrays[f"input{i}"] for i in range(len(arrays.files) - 2))
        rtol, atol = (float(value) for value in arrays["tolerance"])
        return Check(inputs, arrays["expected"], rtol, atol)
