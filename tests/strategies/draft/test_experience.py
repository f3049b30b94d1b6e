"""What was measured of other workloads, as a file and at the start of a search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ansorbench.strategies import BadModel, Draft, Experience
from pytest_ansorbench.strategies.decisions.encoding import Encoding, Trials
from pytest_ansorbench.strategies.decisions.experience import (
    SHIPPED,
    is_experience,
    save_experience,
)
from pytest_ansorbench.strategies.decisions.space import by_sketch
from pytest_ansorbench.workloads import BatchMatmul
from tests.strategies.draft.test_draft import BRIEF, made_up, resumed, told
from tests.strategies.setups import make_setup, spaces_of

SMALL = BatchMatmul(batch=1, m=32, n=64, k=32)
LARGE = BatchMatmul(batch=1, m=64, n=64, k=64)
POLICY = replace(BRIEF, vector_units=None, first_trials=16, opening_trials=16, explored_share=0.0)


def measured(target, case):
    """What a search of a case has measured, by kinds of sketches."""
    setup = make_setup(target, case=case)
    proposer, space = POLICY.start(setup), setup.design_space()
    points, gflops = [], []
    for _ in range(6):
        batch = proposer.propose(16)
        points += [space.point(one.payload) for one in batch]
        gflops += told(proposer, batch)
    kinds, throughput = space.encoding.kinds, np.array(gflops) / max(gflops)
    return {
        kinds[index]: Trials(space.spaces[index].features(vectors), throughput[places])
        for index, places, vectors in by_sketch(points)
    }


def contrary(known):
    """The opposite: what was fastest is slowest."""
    return {
        kind: Trials(trials.features, 0.05 / np.maximum(trials.throughput, 0.05))
        for kind, trials in known.items()
    }


def test_trials_survive_their_file(tmp_path):
    known = {
        "a": Trials(np.array([[1.0, 0.1], [3.0, 20.3]], np.float32), np.array([1.0, 0.123])),
        "b": Trials(np.zeros((1, 5), np.float32), np.array([0.0])),
    }
    save_experience(known, tmp_path / "some.npz")
    read = Experience(path=tmp_path / "some.npz").known()
    assert list(read) == ["a", "b"]
    for kind, trials in read.items():
        np.testing.assert_array_equal(trials.features, known[kind].features)
        np.testing.assert_allclose(trials.throughput, known[kind].throughput, rtol=1e-3)
    assert [path.name for path in tmp_path.iterdir()] == ["some.npz"]


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "some.npz"
    for value in (0.25, 0.5):
        save_experience({"a": Trials(np.zeros((1, 1), np.float32), np.array([value]))}, path)
        assert Experience(path=path).known()["a"].throughput.tolist() == [value]


def test_a_search_begins_with_what_another_shape_has_shown(target, tmp_path):
    save_experience(measured(target, SMALL), tmp_path / "small.npz")
    setup = make_setup(target, case=LARGE)
    policy = replace(POLICY, experience=Experience(path=tmp_path / "small.npz"))
    experienced = policy.start(setup).propose(16)
    fresh = POLICY.start(make_setup(target, case=LARGE)).propose(16)
    assert all(one.payload["predicted"] is not None for one in experienced)
    assert np.mean([*map(made_up, experienced)]) > 1.2 * np.mean([*map(made_up, fresh)])


def test_experience_that_is_right_keeps_its_weight_and_the_opposite_loses_it(target, tmp_path):
    right, path = measured(target, SMALL), tmp_path / "small.npz"
    policy = replace(POLICY, experience=Experience(path=path), explored_share=0.1)
    weights = []
    for known in (right, contrary(right)):
        save_experience(known, path)
        proposer = policy.start(make_setup(target, case=LARGE))
        told(proposer, proposer.propose(16))
        assert proposer.decisions()["prior_weight"] == 1.0
        for _ in range(3):
            told(proposer, proposer.propose(16))
        weights.append(proposer.decisions()["prior_weight"])  # after 48 trials
    # With eight seeds 0.76 or more, and 0.
    assert weights[0] > 0.5
    assert weights[1] < 0.1


def test_a_sketch_that_experience_favours_wrongly_loses_its_share(target, tmp_path):
    # Sketch 1 is the best of all shapes; experience says that the first is, by far.
    known = {
        kind: Trials(trials.features, trials.throughput / (1.0 if kind.endswith("-0") else 8.0))
        for kind, trials in measured(target, SMALL).items()
    }
    save_experience(known, tmp_path / "small.npz")
    path = tmp_path / "small.npz"
    policy = replace(BRIEF, experience=Experience(path=path), explored_share=0.0)
    proposer = policy.start(make_setup(target, case=LARGE))
    batches = []
    while sum(map(len, batches)) < 72:
        batches.append(proposer.propose(16))
        told(proposer, batches[-1])
    sketches = [one.payload["sketch"] for batch in batches for one in batch]
    shares = proposer.decisions()["sketch_shares"]
    assert shares[1] > 0.5 > 2 * shares[0]
    assert sketches[-24:].count(0) < sketches[-24:].count(1)


def test_a_resumed_search_weighs_experience_as_if_nothing_had_happened(target, tmp_path):
    save_experience(contrary(measured(target, SMALL)), tmp_path / "small.npz")
    policy = replace(BRIEF, experience=Experience(path=tmp_path / "small.npz"))
    _, proposers = resumed(policy, *(make_setup(target, case=LARGE, seed=5) for _ in range(2)))
    weights = [one.decisions()["prior_weight"] for one in proposers]
    assert 0.0 < weights[0] == weights[1] < 1.0  # some rounds later both are 0


def test_what_is_not_of_its_kind_tells_a_search_nothing(target, tmp_path):
    save_experience({"other": Trials(np.zeros((9, 3), np.float32), np.ones(9))}, tmp_path / "o.npz")
    policy = Draft(vector_units=None, experience=Experience(path=tmp_path / "o.npz"))
    batch = policy.start(make_setup(target, case=LARGE)).propose(16)
    assert all(one.payload["predicted"] is None for one in batch)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "bad experience"),
        (b"no archive", "bad experience"),
        ({"other": np.zeros(1)}, "header"),
        ({"header": np.array("[]")}, "expected format 1"),
        ({"header": np.array('{"format": 0}')}, "expected format 1"),
        ({"header": np.array('{"format": 1}'), "features-a": np.zeros((1, 1))}, "throughput-a"),
    ],
)
def test_a_file_that_is_none_is_refused_when_a_search_starts(target, tmp_path, content, message):
    path = tmp_path / "bad.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.savez(path, **content)
    policy = Draft(experience=Experience(path=path))
    with pytest.raises(BadModel, match=message):
        policy.start(make_setup(target))


def test_the_shipped_one_knows_sketches_of_shipped_operators(target):
    known = Experience().known()
    assert SHIPPED.stat().st_size < 3_000_000
    for case in (BatchMatmul(batch=1, m=128, n=128, k=128),):
        assert set(Encoding(spaces_of(target, case)[0]).kinds) <= set(known)
    for trials in known.values():
        assert len(trials.features) == len(trials.throughput)
        assert trials.throughput.min() >= 0.0 and trials.throughput.max() <= 1.0


def test_experience_is_told_from_other_files(tmp_path):
    save_experience({"a": Trials(np.zeros((1, 2), np.float32), np.ones(1))}, tmp_path / "yes.npz")
    np.savez(tmp_path / "samples.npz", case=np.array("a"))
    (tmp_path / "damaged.npz").write_bytes(b"no archive")
    names = ("yes.npz", "samples.npz", "damaged.npz", "missing.npz")
    assert [is_experience(tmp_path / name) for name in names] == [True, False, False, False]
