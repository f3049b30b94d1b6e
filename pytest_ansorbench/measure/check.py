"""Tells a right kernel from a wrong one, and carries what is needed for that to a worker."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.measure.arguments import aligned
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


def dump_check(check: Check) -> bytes:
    """Pack a check as an `.npz` archive, for `load_check`."""
    arrays: dict[str, Any] = {f"input{i}": array for i, array in enumerate(check.inputs)}
    tolerance = np.array([check.rtol, check.atol])
    archive = io.BytesIO()
    np.savez(archive, expected=check.expected, tolerance=tolerance, **arrays)
    return archive.getvalue()


def load_check(archive: bytes) -> Check:
    """Unpack what `dump_check` packed, with aligned inputs. Never unpickles."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        inputs = tuple(aligned(arrays[f"input{i}"]) for i in range(len(arrays.files) - 2))
        rtol, atol = (float(value) for value in arrays["tolerance"])
        return Check(inputs, arrays["expected"], rtol, atol)
