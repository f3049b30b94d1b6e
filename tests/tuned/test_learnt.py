"""Other models begin with what a folder's models have shown."""

from __future__ import annotations

import pytest

from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.tuning.learnt import equipped
from pytest_ansorbench.workloads import BatchMatmul

pytestmark = pytest.mark.usefixtures("fast_engine")
PRODUCT = BatchMatmul(batch=1, m=16, n=16, k=16)


def test_a_strategy_with_experience_gets_that_of_other_cases(place):
    assert place.quickly("models:product", "--trials", "8") == 0
    told, noted = [], []
    transfer = Registry().get("draft+transfer")
    past = place.past()
    asked = (transfer, past, [PRODUCT.id], place.out, noted.append, told.append)
    assert equipped(*asked) is transfer and not told
    other = equipped(transfer, past, ["other"], place.out, noted.append, told.append)
    assert told[0].startswith(f"learnt: 8 programs added to {place.out / 'learnt'}, ")
    assert other.cost_model.path == place.out / "learnt" / "draft.ubj"
    random = Registry().get("random")
    assert equipped(random, past, ["other"], place.out, noted.append, told.append) is random
    assert len(told) == len(noted) == 1
