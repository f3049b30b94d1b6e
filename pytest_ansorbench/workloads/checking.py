"""Inputs on which a program's outputs say something, and the check that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.arrays import is_float
from pytest_ansorbench.workloads.case import Check
from pytest_ansorbench.workloads.dataflow import Rounding
from pytest_ansorbench.workloads.tolerance import of_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.workloads.inputs import Ways

_SEEDS: Final = (0, 1)
"""Of the inputs that kernels are timed on, and of the fresh ones."""

Arrays = tuple["NDArray[Any]", ...]
Outputs = tuple[Arrays, Arrays]
"""What a program computes of a check's inputs, and of its fresh ones: nothing if there are none."""


def best_check(
    ways: Ways,
    compute: Callable[[Check], Outputs | None],
    rounding: Rounding,
    weights: Arrays = (),
) -> tuple[float, Check] | None:
    """Find inputs on which outputs are numbers that depend on them, or else the best there are.

    Args:
        ways: To come by inputs, in the order in which they are tried.
        compute: What the program computes of inputs and of fresh ones; None if it fails.
        rounding: How far it may take outputs.
        weights: The program's last arguments, which are no inputs.

    Returns:
        The share of numbers among the outputs, 0 if they do not depend on the inputs, and the
        check; None if the program fails on all inputs.
    """
    best: tuple[float, Check] | None = None
    for way in ways:
        inputs, fresh = ((*way(seed), *weights) for seed in _SEEDS)
        outputs = compute(Check(inputs, (), fresh=Check(fresh, ())))
        if outputs is None:
            continue
        of_fresh = check_of(fresh, outputs[1], rounding, drawn=str(way))
        check = check_of(inputs, outputs[0], rounding, of_fresh, str(way))
        worth = _share_of_numbers(outputs)
        if len(inputs) > len(weights) and not way.fixed and not _differ(*outputs):
            worth = 0.0
        if best is None or worth > best[0]:
            best = worth, check
        if worth == 1.0:
            break
    return best


def check_of(
    inputs: Arrays,
    outputs: Arrays,
    rounding: Rounding,
    fresh: Check | None = None,
    drawn: str = "",
) -> Check:
    """A check whose outputs may be off by rounding, each in its own data type."""
    allowed = [of_error(output, rounding.error, output.dtype) for output in outputs]
    rtol, atol = (tuple(one[which] for one in allowed) for which in (0, 1))
    return Check(inputs, outputs, rtol, atol, fresh, drawn, rounding.few)


def _differ(outputs: Sequence[NDArray[Any]], others: Sequence[NDArray[Any]]) -> bool:
    return any(one.tobytes() != other.tobytes() for one, other in zip(outputs, others, strict=True))


def _share_of_numbers(outputs: Outputs) -> float:
    """The least share of finite numbers in an output."""
    return min(
        (
            float(np.isfinite(output.astype(np.float64)).mean())
            for outputs_of_one in outputs
            for output in outputs_of_one
            if is_float(output.dtype) and output.size
        ),
        default=1.0,
    )
