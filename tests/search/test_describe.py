"""What is told of tasks before they are searched."""

from __future__ import annotations

from pytest_ansorbench.search.describe import describe_tasks
from pytest_ansorbench.strategies import Registry
from tests.faults import Doubling
from tests.strategies.setups import MATMUL


def test_only_a_space_with_a_decision_in_it_leaves_something_to_choose(engine):
    tasks = [*MATMUL.tasks(), *Doubling().tasks()]
    matmul, doubling = describe_tasks(tasks, engine.target, Registry().get("default"))
    assert matmul.tunable and matmul.sketches == 3
    assert matmul.shapes == ((1, 16, 16), (1, 16, 16), (1, 16, 16))
    assert not doubling.tunable
