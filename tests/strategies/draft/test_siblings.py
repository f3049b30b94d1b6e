"""What tasks of a network learn from each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ansorbench.strategies import Draft, Siblings
from pytest_ansorbench.strategies.draft.encoding import Encoding, kinds_of
from pytest_ansorbench.strategies.draft.siblings import Family
from pytest_ansorbench.workloads import BatchMatmul, Softmax
from tests.strategies.draft.test_draft import made_up, told
from tests.strategies.setups import make_setup, spaces_of

SMALL = BatchMatmul(batch=1, m=32, n=64, k=32)
LARGE = BatchMatmul(batch=1, m=64, n=64, k=64)
POLICY = Draft(verification=None, vector_units=None, first_trials=16, random_share=0.0)


def rows(*values):
    return np.array([values], dtype=np.float32).T


def test_a_task_is_told_what_the_others_have_measured_relative_to_their_best():
    family = Family()
    mine, other, third = family.join(), family.join(), family.join()
    mine.tell("a", rows(1.0), [5.0])
    other.tell("a", rows(2.0, 3.0), [10.0, 0.0])
    other.tell("b", rows(4.0), [40.0])
    third.tell("a", rows(5.0), [2.0])
    told_of = family.others(mine, ["a", "b", "c"], 1)
    assert list(told_of) == ["a", "b"]
    assert told_of["a"].features.ravel().tolist() == [2.0, 3.0, 5.0]
    assert told_of["a"].throughput.tolist() == [0.25, 0.0, 1.0]
    assert told_of["b"].throughput.tolist() == [1.0]


def test_a_task_with_few_trials_or_without_a_valid_one_tells_nothing():
    family = Family()
    mine, few, failed = family.join(), family.join(), family.join()
    few.tell("a", rows(1.0), [1.0])
    failed.tell("a", rows(1.0, 2.0, 3.0), [0.0, 0.0, 0.0])
    assert family.others(mine, ["a"], 2) == {}


def test_tasks_of_one_run_are_a_family_and_those_of_another_are_not():
    one, other = {}, {}
    assert Family.of_run(one) is Family.of_run(one)
    assert Family.of_run(one) is not Family.of_run(other)


def test_a_bad_parameter_is_named():
    with pytest.raises(ValueError, match="bad least 0"):
        Siblings(least=0)


def test_sketches_of_an_operator_are_of_the_same_kinds_in_all_shapes(target):
    small, large, other = (
        kinds_of(spaces_of(target, case)[0]) for case in (SMALL, LARGE, Softmax(m=32, n=32))
    )
    assert small == large
    assert len(set(small)) == len(small) > 1
    assert not set(small) & set(other)


def test_features_of_a_sibling_take_the_columns_of_its_kind(target):
    small, large = (Encoding(spaces_of(target, case)[0]) for case in (SMALL, LARGE))
    spaces, _, _ = spaces_of(target, SMALL)
    vectors = spaces[1].draw(3, np.random.default_rng(0))
    placed = large.placed(1, spaces[1].features(vectors))
    assert large.columns == small.columns
    points = [(1, tuple(vector)) for vector in vectors.tolist()]
    np.testing.assert_array_equal(placed, small.rows(points))


def begun(target, policy, *, told_of):
    """The first batch of a task whose sibling has been searched, or not, by the same policy."""
    shared = {}
    sibling = policy.start(replace(make_setup(target, case=SMALL), shared=shared))
    for _ in range(told_of):
        assert len(told(sibling, sibling.propose(16))) == 16
    proposer = policy.start(replace(make_setup(target, case=LARGE), shared=shared))
    batch = proposer.propose(16)
    told(proposer, batch)
    learnt = 16 * told_of if policy.siblings else 0
    assert proposer.decisions()["trials_of_others"] == learnt
    return batch


def test_the_first_batch_of_a_task_goes_by_what_its_sibling_has_measured(target):
    with_sibling = begun(target, POLICY, told_of=4)
    alone = begun(target, POLICY, told_of=0)
    assert all(one.payload["predicted"] is not None for one in with_sibling)
    assert all(one.payload["predicted"] is None for one in alone)
    assert np.mean([*map(made_up, with_sibling)]) > 1.2 * np.mean([*map(made_up, alone)])


def test_without_siblings_a_task_begins_as_if_it_were_alone(target):
    batch = begun(target, replace(POLICY, siblings=None), told_of=4)
    assert all(one.payload["predicted"] is None for one in batch)
