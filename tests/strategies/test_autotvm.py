"""The parts of AutoTVM's search, each on points whose truth is known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pytest_ansorbench.stats.ranks import rank_correlation
from pytest_ansorbench.strategies import (
    AutoTVM,
    Chains,
    DesignSpace,
    Diversity,
    Experience,
    LoopInputs,
    NestInputs,
    RankingTrees,
    RelationInputs,
    StrategyError,
    Transfer,
    Tried,
    pool,
)
from pytest_ansorbench.strategies.decisions.encoding import Trials
from pytest_ansorbench.strategies.decisions.experience import save_experience
from pytest_ansorbench.strategies.features import extract, extractor_of
from tests.strategies.point_searches import (
    SMALLER,
    Hidden,
    design_space,
    every_point,
    searched,
)

of_programs = pytest.mark.parametrize("inputs", [LoopInputs(), NestInputs(), RelationInputs()])
FEW = {"model": RankingTrees(trees=20), "chains": Chains(16, 16)}


def drawn(space, count, seed=0):
    rng = np.random.default_rng(seed)
    return [space.draw(rng) for _ in range(count)]


def fitted(space, hidden, policy, *, prior=None, count=200):
    points = drawn(space, count)
    gflops = np.array([hidden(point) for point in points])
    return policy.fit(space.rows(points), gflops / gflops.max(), np.ones(count), 0, prior)


@pytest.mark.parametrize("objective", ["rank", "regression"])
def test_trees_put_programs_in_order(target, objective):
    space = design_space(target)
    hidden = Hidden(space)
    others = drawn(space, 200, seed=1)
    truth = [hidden(point) for point in others]
    scores = fitted(space, hidden, RankingTrees(objective)).predict(space.rows(others))
    assert rank_correlation(scores, truth) > 0.8
    off = np.abs(scores - np.array(truth) / max(truth)).mean()
    assert off < 0.1 if objective == "regression" else off > 0.5


@pytest.mark.parametrize("objective", ["rank", "regression"])
def test_trees_learn_what_a_prior_leaves(target, objective):
    space = design_space(target)
    hidden = Hidden(space)
    rows = space.rows(drawn(space, 50, seed=1))

    class Constant:
        def predict(self, rows):
            return np.full(len(rows), 0.25)

    alone = fitted(space, hidden, RankingTrees(objective))
    after = fitted(space, hidden, RankingTrees(objective), prior=Constant())
    assert rank_correlation(alone.predict(rows), after.predict(rows)) > 0.9
    few = RankingTrees(objective, trees=1, rate=0.01)
    near = fitted(space, hidden, few, prior=Constant()).predict(rows)
    assert np.abs(near - 0.25).max() < 0.05


def test_ranking_trees_step_down_the_loss_that_they_say():
    """Of ten slow programs and ten fast ones, which a prior has the other way round."""
    rows = np.repeat([[0.0], [1.0]], 10, axis=0).astype(np.float32)

    class Wrong:
        def predict(self, rows):
            return 1.0 - 2.0 * rows[:, 0].astype(np.float64)

    policy = RankingTrees(trees=1, rate=0.5)
    model = policy.fit(rows, np.repeat([0.5, 1.0], 10), np.ones(20), 0, Wrong())
    right = 1.0 / (1.0 + np.exp(2.0))  # the chance that Wrong gives the right order
    # Of 100 pairs; a Newton step, where XGBoost doubles the curvature and adds 1 to a leaf's.
    step = policy.rate * 100 * (1.0 - right) / (200 * right * (1.0 - right) + 1.0)
    assert model.predict(rows[[0, -1]]) == pytest.approx([1.0 - step, -1.0 + step], rel=1e-4)


def test_trees_wait_for_a_valid_program():
    assert RankingTrees().fit(np.zeros((3, 2), np.float32), np.zeros(3), np.ones(3), 0) is None
    with pytest.raises(ValueError, match="bad objective 'best': expected rank or regression"):
        RankingTrees("best")


def test_chains_come_by_what_the_model_likes_best(target):
    space = design_space(target)
    hidden = Hidden(space)

    def score(points):
        return 10.0 * np.log([hidden(point) for point in points])

    best = sorted(every_point(space), key=hidden, reverse=True)
    taken = {best[0]}
    starts = drawn(space, 64)
    found = Chains(64, 200).best(space, starts, score, 8, taken, np.random.default_rng(0))
    points = [point for _, point in found.ranked]
    assert hidden(points[0]) == hidden(best[1])
    assert best[0] not in points and len(set(points)) == 8
    assert [value for value, _ in found.ranked] == score(points).tolist()
    assert np.mean(score(found.ends)) > np.mean(score(starts)) + 5.0


def test_chains_end_when_nothing_better_is_found(target):
    space = design_space(target)
    found = Chains(4, 500, patience=7).best(
        space,
        drawn(space, 4),
        lambda points: np.zeros(len(points)),
        2,
        (),
        np.random.default_rng(0),
    )
    assert found.steps == 7


def test_a_batch_covers_choices_as_its_weight_says():
    rng = np.random.default_rng(0)
    points = [(0, tuple(vector)) for vector in rng.integers(4, size=(40, 3)).tolist()]
    ranked = sorted(zip(rng.normal(size=40).tolist(), points, strict=True), reverse=True)
    assert Diversity(weight=0.0).ordered(ranked) == ranked
    chosen = Diversity(weight=100.0).ordered(ranked)
    assert sorted(chosen) == sorted(ranked)
    assert chosen[0] == ranked[0]
    assert all(len({vector[at] for _, (_, vector) in chosen[:4]}) >= 3 for at in range(3))
    assert Diversity().ordered([]) == []


def test_the_greedy_batch_is_nearly_the_best_of_all():
    """Within 1 - 1/e, which is what is known of monotone submodular functions."""
    rng = np.random.default_rng(1)
    points = [(0, tuple(vector)) for vector in rng.integers(6, size=(9, 3)).tolist()]
    scores = np.abs(rng.normal(size=9))
    ranked = sorted(zip(scores.tolist(), points, strict=True), reverse=True)

    def worth(batch):
        covered = {(at, one) for _, (_, vector) in batch for at, one in enumerate(vector)}
        return sum(score for score, _ in batch) / scores.std() + 0.5 * len(covered)

    best = max(map(worth, combinations(ranked, 3)))
    assert worth(Diversity(weight=0.5).ordered(ranked)[:3]) > (1.0 - 1.0 / np.e) * best


def test_loop_inputs_are_features_of_the_program(target):
    space = design_space(target)
    points = drawn(space, 3)
    rows = LoopInputs().start(space)([*points, points[0]])
    programs = [space.program(point).candidate().measure_candidate for point in points]
    expected = pool(extract(extractor_of(None), space.maker.context, programs))
    np.testing.assert_array_equal(rows, [*expected, expected[0]])


class Points(DesignSpace):
    """Points without programs."""

    programs = fingerprint = registers = None


@of_programs
def test_inputs_of_programs_need_them(target, inputs):
    recorded = Points(design_space(target).spaces)
    message = f"bad inputs {type(inputs).__name__}\\(\\): .* DecisionInputs\\(\\)"
    with pytest.raises(StrategyError, match=message):
        inputs.start(recorded)


@of_programs
def test_rows_are_of_the_points_and_as_wide_where_there_is_none(target, inputs):
    space = design_space(target)
    points = drawn(space, 6)
    rows = inputs.start(space)
    whole = rows(points)
    assert rows([]).shape == (0, whole.shape[1])
    np.testing.assert_array_equal(rows(points[::-1]), whole[::-1])
    np.testing.assert_array_equal(inputs.start(space)(points[3:4]), whole[3:4])


@of_programs
def test_points_that_are_no_program_have_rows_of_nothing(target, inputs, monkeypatch):
    space = design_space(target)
    points = drawn(space, 2)
    make = space.program
    monkeypatch.setattr(space, "program", lambda one: None if one == points[0] else make(one))
    nothing, something = inputs.start(space)(points)
    assert np.isnan(nothing).all() and not np.isnan(something).all()


@of_programs
def test_trees_learn_from_features_of_programs(target, inputs):
    space = design_space(target)
    hidden = Hidden(space)
    rows = inputs.start(space)
    points = drawn(space, 200)
    gflops = np.array([hidden(point) for point in points])
    model = RankingTrees().fit(rows(points[:120]), gflops[:120] / gflops.max(), np.ones(120), 0)
    assert rank_correlation(model.predict(rows(points[120:])), gflops[120:]) > 0.4


def test_a_share_of_each_batch_is_random(target):
    space = design_space(target)
    tried, _ = searched(AutoTVM(random_share=1.0, **FEW), space, Hidden(space), 48)
    assert not any(one.note for one in tried)
    tried, _ = searched(AutoTVM(random_share=0.0, **FEW), space, Hidden(space), 48)
    assert [bool(one.note) for one in tried] == [False] * 16 + [True] * 32
    tried, _ = searched(AutoTVM(random_share=0.25, **FEW), space, Hidden(space), 48)
    assert sum(not one.note for one in tried) == 16 + 4 + 4


def test_chains_go_on_from_where_they_were(target):
    starts, ends = [], []

    class Noted(Chains):
        def best(self, space, where, *others):
            starts.append(where)
            found = super().best(space, where, *others)
            ends.append(found.ends)
            return found

    space = design_space(target)
    searched(AutoTVM(chains=Noted(8, 8)), space, Hidden(space), 64)
    assert len(starts) == 3 and len(starts[0]) == 8
    assert starts[1:] == ends[:2]


def test_what_is_no_program_is_as_good_as_the_worst_trial(target):
    """Whatever a model makes of a row of nothing."""
    space = design_space(target, SMALLER)
    of_sketch = {point[0]: point for point in every_point(space)}
    nothing, slow, fast = (of_sketch[index] for index in range(3))
    scores = []

    class Holes:
        def start(self, space):
            def rows(points):
                found = space.rows(points)
                found[[index == nothing[0] for index, _ in points]] = np.nan
                return found

            return rows

    class Blind:
        def fit(self, *trials):
            return self

        def predict(self, rows):
            return np.where(np.isnan(rows[:, -1]), 9.0, rows[:, -1])

    class Noted(Chains):
        def best(self, space, where, score, *others):
            scores.extend(score([fast, nothing, slow]).tolist())
            return super().best(space, where, score, *others)

    policy = AutoTVM(Blind(), Holes(), Noted(4, 4), random_share=0.0)
    search = policy.search(space, np.random.default_rng(0), 16)
    search.tell([Tried(slow, 1.0, {}), Tried(fast, 2.0, {})])
    assert [*search.ask(4, ())]
    assert scores == [2.0, 1.0, 1.0]


def experienced(space, path, hidden):
    """A file of what was measured of a shape with sketches of the same kinds."""
    points = drawn(space, 300)
    gflops = np.array([hidden(point) for point in points])
    known = {}
    for at, kind in enumerate(space.encoding.kinds):
        mine = [point for point in points if point[0] == at]
        vectors = np.array([vector for _, vector in mine], dtype=np.int32)
        of_kind = gflops[[point[0] == at for point in points]]
        known[kind] = Trials(space.spaces[at].features(vectors), of_kind / gflops.max())
    save_experience(known, path)
    return Transfer(Experience(path))


def test_what_other_workloads_show_is_where_the_search_begins(target, tmp_path):
    space = design_space(target)
    hidden = Hidden(space, 2)
    transfer = experienced(space, tmp_path / "known.npz", hidden)
    tried, _ = searched(AutoTVM(transfer=transfer, **FEW), space, hidden, 16)
    alone, _ = searched(AutoTVM(**FEW), space, hidden, 16)
    assert np.mean([one.gflops for one in tried]) > 1.3 * np.mean([one.gflops for one in alone])


def test_the_global_model_counts_for_less_with_each_trial():
    class Constant:
        def predict(self, rows):
            return np.ones(len(rows))

    rows = np.zeros((2, 1), np.float32)
    counts = [Transfer().discounted(Constant(), trials).predict(rows)[0] for trials in (0, 64, 128)]
    assert counts == [1.0, 0.5, 0.25]


def test_nothing_is_transferred_to_unknown_kinds(target, tmp_path):
    space = design_space(target)
    save_experience({"other-0": Trials(np.zeros((1, 1), np.float32), np.ones(1))}, tmp_path / "k")
    assert Transfer(Experience(tmp_path / "k")).model(space, RankingTrees()) is None


def test_a_transfer_takes_features_of_decisions():
    with pytest.raises(ValueError, match=r"bad inputs LoopInputs\(\): expected DecisionInputs\(\)"):
        AutoTVM(inputs=LoopInputs(), transfer=Transfer())
