"""The steered search proposes like the engine's own, from the sketches its policy names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import Evolution, Strategy, UniformSketches
from pytest_ansorbench.workloads import BatchMatmul

MATMUL = BatchMatmul(batch=1, m=16, n=16, k=16)


@dataclass(frozen=True)
class Always:
    """Draws the whole population from one sketch."""

    sketch: int

    def start(self, sketches):
        self_shares = np.zeros(sketches)
        self_shares[self.sketch] = 1.0

        class Chooser:
            def shares(self):
                return self_shares

            def observe(self, sketches, gflops):
                pass

            def decisions(self):
                return {}

        return Chooser()


def proposals(engine, policy, rounds=2, trials=8):
    each = Search(
        MATMUL.tasks()[0],
        Strategy("steered", proposer=Evolution(policy)),
        engine,
        case=MATMUL.id,
        seed=0,
        budget_trials=rounds * trials,
        round_trials=trials,
    )
    while not each.finished:
        each.step()
    return each.record()


@pytest.mark.parametrize("sketch", [0, 2])
def test_all_programs_come_from_the_sketch_the_policy_names(engine, sketch):
    run = proposals(engine, Always(sketch))
    assert {trial.sketch for trial in run.trials} == {sketch}
    assert run.failed_trials == 0


def test_a_uniform_policy_draws_from_every_sketch_and_never_twice_the_same(engine):
    from tvm_ffi import structural_hash

    each = Search(
        MATMUL.tasks()[0],
        Strategy("steered", proposer=Evolution(UniformSketches())),
        engine,
        case=MATMUL.id,
        seed=0,
        budget_trials=64,
        round_trials=16,
    )
    # Asked directly, without measuring: what is proposed again and again must stay new.
    proposed = [candidate for _ in range(4) for candidate in each._proposer.propose(40)]
    assert len(proposed) == 160
    assert len({structural_hash(candidate.sch.mod) for candidate in proposed}) == 160
    assert {each._sketch_index.of(candidate.sch) for candidate in proposed} == {0, 1, 2}
