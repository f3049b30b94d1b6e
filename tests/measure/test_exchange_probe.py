"""How fast cores exchange data, with any engine."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.exchange_probe import exchange, observe_exchange
from pytest_ansorbench.measure.local.lowering import compile_module
from pytest_ansorbench.measure.outcomes import Measured
from tests.fast_engine import FastEngine
from tests.measure.test_noise_probe import Hasty


def test_cores_exchange_data_slower_than_they_compute_and_faster_than_a_disk(engine):
    assert 1e8 < observe_exchange(engine) < 1e12


@pytest.mark.parametrize("cores", [2, 3])
def test_each_step_reads_what_a_neighbour_has_written(cores, target):
    import tvm

    compiled = compile_module(exchange(cores), target)["main"]
    pieces = np.random.default_rng(0).standard_normal((cores, 32768), np.float32)
    found = tvm.runtime.tensor(np.zeros_like(pieces))
    compiled(tvm.runtime.tensor(pieces), found)
    expected = pieces
    for _ in range(4):
        expected = np.roll(expected, -1, axis=0) + np.float32(1)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_a_single_thread_exchanges_nothing():
    alone = resolve_target('{"kind": "llvm", "num-cores": 1}')
    with FastEngine(alone) as engine:
        assert observe_exchange(engine) is None


class Limping(FastEngine):
    """An engine on which nothing runs."""

    def run(self, built, measurement, *, best_s=None, incumbent=None):
        return Measured("run-timeout", error="planted")


@pytest.mark.parametrize("kind", [Hasty, Limping])
def test_limits_that_do_not_let_it_run_leave_it_unknown(target, kind):
    with kind(target) as engine:
        assert observe_exchange(engine) is None


def test_a_broken_engine_says_so(target):
    with FastEngine(target, fails_at=1) as engine, pytest.raises(EngineError, match="planted"):
        observe_exchange(engine)
