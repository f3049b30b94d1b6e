"""Shapes that a skeptic draws: new ones, of different families, the same each time."""

from __future__ import annotations

import pytest

from pytest_ansorbench.training import OTHER_FAMILIES, TODAY, TRAINING
from pytest_ansorbench.workloads import OPERATORS


@pytest.mark.parametrize("seed", range(5))
def test_shapes_are_new_and_of_different_families(import_script, seed):
    script = import_script("skeptic_cases")
    drawn = script.drawn_shapes(3, seed)
    assert drawn == script.drawn_shapes(3, seed)
    assert len({type(one) for one in drawn}) == 3
    known = {case.id for case in (*OPERATORS, *TRAINING, *OTHER_FAMILIES, *TODAY)}
    assert not {one.id for one in drawn} & known
    for one in drawn:
        assert one.flops <= max(case.flops for case in OPERATORS if type(case) is type(one))
