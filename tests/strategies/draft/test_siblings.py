"""What tasks of a network learn from each other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies import Siblings
from pytest_ansorbench.strategies.decisions.encoding import Encoding, kinds_of
from pytest_ansorbench.strategies.draft.siblings import Family, Pooled
from pytest_ansorbench.workloads import BatchMatmul, Softmax
from tests.strategies.draft.test_draft import BRIEF, made_up, told
from tests.strategies.setups import make_setup, spaces_of

SMALL = BatchMatmul(batch=1, m=32, n=64, k=32)
LARGE = BatchMatmul(batch=1, m=64, n=64, k=64)
POLICY = replace(BRIEF, vector_units=None, first_trials=16, opening_trials=16, explored_share=0.0)


def rows(*values):
    return np.array([values], dtype=np.float32).T


def test_a_task_is_told_what_all_have_measured_relative_to_the_best_of_each():
    family = Family()
    mine, other, third = family.join(), family.join(), family.join()
    family.report(mine, "a", rows(1.0), [5.0])
    family.report(other, "a", rows(2.0, 3.0), [10.0, 0.0])
    family.report(other, "b", rows(4.0), [40.0])
    family.report(third, "a", rows(5.0), [2.0])
    assert family.trials == 5
    known = family.known(mine, ["a", "b", "c"], 1, 5)
    assert list(known) == ["a", "b"]
    assert known["a"].features.ravel().tolist() == [1.0, 2.0, 3.0, 5.0]
    assert known["a"].throughput.tolist() == [1.0, 0.25, 0.0, 1.0]
    assert known["b"].throughput.tolist() == [1.0]


def test_what_nobody_else_has_measured_is_nothing_new():
    family = Family()
    mine, other = family.join(), family.join()
    family.report(mine, "a", rows(1.0), [5.0])
    family.report(other, "b", rows(2.0), [5.0])
    assert family.known(mine, ["a"], 1, 2) == {}
    assert list(family.known(other, ["a"], 1, 2)) == ["a"]


def test_what_was_told_later_does_not_count():
    """Not even as a task's best: a model that a resumed run makes again has to be the same."""
    family = Family()
    mine, other = family.join(), family.join()
    family.report(other, "a", rows(1.0, 2.0), [10.0, 5.0])
    before = family.known(mine, ["a"], 1, 2)
    family.report(other, "a", rows(3.0, 4.0), [20.0, 20.0])
    for first in (2, 3):  # a batch counts as a whole, or not at all
        after = family.known(mine, ["a"], 1, first)
        assert after["a"].throughput.tolist() == before["a"].throughput.tolist() == [1.0, 0.5]


def test_a_task_with_few_trials_or_without_a_valid_one_tells_nothing():
    family = Family()
    mine, few, failed = family.join(), family.join(), family.join()
    family.report(few, "a", rows(1.0), [1.0])
    family.report(failed, "a", rows(1.0, 2.0, 3.0), [0.0, 0.0, 0.0])
    assert family.known(mine, ["a"], 2, 4) == {}


def test_a_model_is_made_anew_when_trials_have_grown_enough():
    siblings = Siblings(least=4, regrowth=0.5)
    modelled = [siblings.modelled(trials) for trials in range(15)]
    assert modelled == [0, 0, 0, 0, 4, 4, 6, 6, 6, 9, 9, 9, 9, 9, 14]


def test_after_thousands_of_trials_a_network_is_told_nothing_more():
    family, siblings = Family(), Siblings()
    mine, other = family.join(), family.join()
    for _ in range(1030):
        family.report(other, "a", rows(1.0, 2.0, 3.0, 4.0), [1.0, 2.0, 3.0, 4.0])
    assert family.trials == 4 * 1030
    first = siblings.modelled(family.trials)
    assert siblings.modelled(10**6) == first <= 4096
    known = family.known(mine, ["a"], siblings.least, first)["a"]
    assert len(known.features) == first // 4 * 4
    assert len(family._reports) == 1024


@given(st.integers(1, 50), st.floats(0.01, 2.0), st.integers(0, 3_000))
def test_a_model_is_of_most_of_what_is_known(least, regrowth, trials):
    siblings = Siblings(least=least, regrowth=regrowth)
    first = siblings.modelled(trials)
    assert siblings.modelled(first) == first <= trials
    assert trials < least or trials < math.ceil(first * (1.0 + regrowth))


def test_tasks_of_the_same_kinds_share_a_model():
    family, made = Family(), []

    def make():
        made.append(Pooled(trials=len(made)))
        return made[-1]

    asked = [("a", 4), ("a", 4), ("ab", 4), ("a", 5), ("ab", 4)]
    answers = [family.pooled([*kinds], first, make).trials for kinds, first in asked]
    assert answers == [0, 0, 1, 2, 1]


def test_tasks_of_one_run_are_a_family_and_those_of_another_are_not():
    one, other = {}, {}
    assert Family.of_run(one) is Family.of_run(one)
    assert Family.of_run(one) is not Family.of_run(other)


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
    known = 16 * told_of if policy.siblings else 0
    assert 0.75 * known <= proposer.decisions()["pooled_trials"] <= known
    return batch


def test_the_first_batch_of_a_task_goes_by_what_its_sibling_has_measured(target):
    with_sibling = begun(target, POLICY, told_of=4)
    alone = begun(target, POLICY, told_of=0)
    assert all(one.payload["predicted"] is not None for one in with_sibling)
    assert all(one.payload["predicted"] is None for one in alone)
    assert all("promised" in one.payload for one in with_sibling)
    assert not any("promised" in one.payload for one in alone)
    assert np.mean([*map(made_up, with_sibling)]) > 1.2 * np.mean([*map(made_up, alone)])


def test_without_siblings_a_task_begins_as_if_it_were_alone(target):
    batch = begun(target, replace(POLICY, siblings=None), told_of=4)
    assert all(one.payload["predicted"] is None for one in batch)
