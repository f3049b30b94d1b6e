"""Three shapes that nobody chose: drawn by a seeded generator from the families that ship.

A bench for `draft.py --tests`; docs/research/skeptic.md is its protocol. A shape's family is drawn
first, then each of its sizes from those that the family's shipped shapes have. A shape that cannot
be, that ships, that a shipped model was trained on, or that is more work than the family's largest
is drawn anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final

import numpy as np
import pytest

from pytest_ansorbench.training import OTHER_FAMILIES, TODAY, TRAINING
from pytest_ansorbench.workloads import OPERATORS, Operator

SEED: Final = 20_261_127


def drawn_shapes(count: int, seed: int) -> list[Operator]:
    """Shapes of so many different families."""
    rng, found = np.random.default_rng(seed), []
    known = {case.id for case in (*OPERATORS, *TRAINING, *OTHER_FAMILIES, *TODAY)}
    families = list(dict.fromkeys(type(case) for case in OPERATORS))
    for index in rng.choice(len(families), size=count, replace=False):
        shipped = [case for case in OPERATORS if type(case) is families[index]]
        while (one := _drawn(shipped, rng)) is None or one.id in known:
            pass
        found.append(one)
    return found


def _drawn(shipped: Sequence[Operator], rng: np.random.Generator) -> Operator | None:
    names = [field.name for field in fields(shipped[0])]
    sizes = {name: getattr(shipped[rng.integers(len(shipped))], name) for name in names}
    try:
        one = type(shipped[0])(**sizes)
    except ValueError:
        return None
    return one if one.flops <= max(case.flops for case in shipped) else None


SHAPES: Final = drawn_shapes(3, SEED)


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_drawn_shape(ansor_bench, case):
    """Nothing is promised."""
    ansor_bench(case)
