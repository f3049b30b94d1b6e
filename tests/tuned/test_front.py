"""`pytest_ansorbench.tune`: what it takes, what it returns."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import pytest_ansorbench
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure.local import toolchains
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.sessions import executor_of
from pytest_ansorbench.storage import StorageError
from pytest_ansorbench.storage.entries import RoundEntry
from pytest_ansorbench.tuning.fastest import fastest_result
from pytest_ansorbench.workloads import BatchMatmul, ImportFailed, Mlp
from tests.paced import PacedEngine
from tests.synthetic import make_run
from tests.tuned.test_command import now_with

fast = pytest.mark.usefixtures("fast_engine")
PRODUCT = BatchMatmul(batch=1, m=16, n=16, k=16)
NETWORK = Mlp(features=8, hidden=(4,), classes=2)


def quickly(mod, trials=2, **options):
    return pytest_ansorbench.tune(mod, trials=trials, strategy="random", **options)


def as_it_is():
    return PRODUCT.tasks()[0].mod


def function():
    return as_it_is()["main"]


@fast
@pytest.mark.parametrize("make", [as_it_is, function, lambda: PRODUCT, lambda: "models:product"])
def test_an_operator_in_any_form_is_tuned_and_computes_the_same(place, make):
    import tvm

    lines = []
    tuned = quickly(make(), progress=lines.append)
    assert tuned.trials == 2 and tuned.before_s > 0.0 and tuned.after_s > 0.0
    assert any("trial 2, 100%" in line for line in lines)
    x, y = (np.random.default_rng(at).random((1, 16, 16), np.float32) for at in range(2))
    output = tvm.runtime.tensor(np.zeros((1, 16, 16), np.float32))
    tuned.module["main"](tvm.runtime.tensor(x), tvm.runtime.tensor(y), output)
    np.testing.assert_allclose(output.numpy(), x @ y, rtol=1e-4)
    assert tuned.database.has_workload(as_it_is()) and tuned.weights == ()
    assert not place.out.exists() and not (place.root / "journals").exists()


@fast
def test_options_of_the_command_are_keywords(place):
    tuned = quickly(PRODUCT, trials=4, seed=3, round=2, against="numpy", into=place.out)
    assert list(tuned.peers_s) == ["numpy"] and tuned.peers_s["numpy"] > 0.0
    rounds = place.past().of(RoundEntry)
    assert [(entry.seed, len(entry.trials)) for entry in rounds] == [(3, 2), (3, 2)]
    with pytest.raises(TypeError, match=r"unexpected option 'sead'; expected .*\bseed\b"):
        quickly(PRODUCT, sead=3)
    with pytest.raises(ValueError, match=r"^bad seed 'x': expected"):
        quickly(PRODUCT, seed="x")


def test_times_from_ten_seconds_on_are_told_without_an_exponent():
    now, earlier = (
        CaseResult("x", ("default",), (replace(make_run("x", final=s), schedules=schedules),), ())
        for s, schedules in ((12.3456, None), (11.0, (None,)))
    )
    kept = fastest_result(now, [earlier])[1]
    assert kept.endswith(" stays, 11000 ms; this call has found 12346 ms")


@fast
def test_libraries_are_those_of_this_call_whichever_search_stays(place):
    """In one of both orders the first stays, which was measured without any."""
    searches, told = ({"trials": 4, "seed": 0}, {"trials": 3, "seed": 1}), []
    for first, second in (searches, searches[::-1]):
        folder = place.root / f"seed{first['seed']}"
        quickly(PRODUCT, into=folder, **first)
        tuned = quickly(PRODUCT, against="numpy", into=folder, progress=told.append, **second)
        assert list(tuned.peers_s) == ["numpy"] and tuned.peers_s["numpy"] > 0.0
    assert sum(" in an earlier call stays, " in line for line in told) == 1
    assert sum("; numpy takes " in line for line in told) == 1


@fast
def test_of_two_calls_into_one_new_folder_one_is_refused(place, monkeypatch):
    """Before either has a journal."""

    def meanwhile(*settings, **others):
        monkeypatch.setattr("pytest_ansorbench.tuning.tuning.executor_of", executor_of)
        with pytest.raises(StorageError, match="out': another session is writing it; wait"):
            quickly(PRODUCT, into=place.out)
        return executor_of(*settings, **others)

    monkeypatch.setattr("pytest_ansorbench.tuning.tuning.executor_of", meanwhile)
    for _ in range(2):
        assert quickly(PRODUCT, into=place.out).trials == 2
    assert len(place.trials()) == 2


def answer(tuned, *inputs):
    """What a tuned network makes of inputs."""
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tuned.module, tvm.cpu())
    arguments = map(tvm.runtime.tensor, (*inputs, *tuned.weights))
    return machine["main"](*arguments).numpy()


@fast
def test_a_relax_module_is_tuned_with_a_target_of_its_own(place, target):
    from pytest_ansorbench.workloads.networks.to_relax import to_relax
    from tests.inference import infer

    attributes = json.loads(str(target))
    mod = to_relax(NETWORK.graph())
    tuned = quickly(mod, "1/task", target=attributes, name="mine", into=place.out)
    assert tuned.case == "mine" and (place.out / "load.py").is_file()
    data = NETWORK.arguments()
    np.testing.assert_allclose(
        answer(tuned, *data), infer(NETWORK.program(), data), rtol=1e-3, atol=1e-5
    )


@fast
@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_a_module_of_pytorchs_is_tuned_and_left_as_it_was(place):
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Dropout(), torch.nn.ReLU())
    module[2].eval()
    tuned = quickly(module, "1/task", shapes={"input": (1, 8)})
    assert tuned.case == "Sequential"
    assert [part.training for part in module] == [True, True, False]
    x = torch.rand(1, 8)
    with torch.no_grad():
        expected = module.eval()(x).numpy()
    np.testing.assert_allclose(answer(tuned, x.numpy()), expected, rtol=1e-4, atol=1e-6)


@fast
@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_weights_that_numpys_files_do_not_know_are_loaded_again(place):
    import torch

    module = torch.nn.Embedding(3, 2).bfloat16()
    rows = torch.tensor([[2, 0]])
    quickly(module, "1/task", example_inputs=(rows,), into=place.out)
    output = runpy.run_path(str(place.out / "load.py"))["run"](rows.numpy()).numpy()
    with torch.no_grad():
        assert output.dtype.name == "bfloat16"
        np.testing.assert_array_equal(output.astype(np.float32), module(rows).float().numpy())


@pytest.mark.parametrize(
    ("mod", "options", "message"),
    [
        (PRODUCT, {"rewrite": "fast"}, "bad rewrite 'fast': expected none, channels-last, packed"),
        (PRODUCT, {"trials": "many"}, "bad trials 'many': expected a whole number"),
        (PRODUCT, {"time_limit": -1}, "bad time_limit '-1': expected a duration"),
        (PRODUCT, {"shapes": {"x": 1}}, "is a case, so its shapes are fixed"),
        (
            PRODUCT,
            {"rpc": "h:1:k", "against": "numpy"},
            "^bad against: .* and with rpc programs run",
        ),
        (
            PRODUCT,
            {"round": 4},
            r"^bad trials 2: expected at least .*make rounds smaller with round$",
        ),
        (17, {}, "bad model 17: expected a file, the id of a case, an IRModule"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(place, mod, options, message):
    with pytest.raises(ValueError, match=message):
        quickly(mod, **options)


@fast
def test_a_folder_that_cannot_be_gone_on_with_is_named(place, monkeypatch):
    quickly(PRODUCT, into="out")
    now_with(monkeypatch, cpu="another")
    with pytest.raises(ResumeError, match=r"^bad into 'out': .*another machine .*; choose another"):
        quickly(PRODUCT, into="out")


def test_a_library_that_does_not_fit_is_refused_by_the_arguments_name(place):
    with pytest.raises(ToolchainError, match=f"^bad against 'numpy': {NETWORK.id}: numpy has kern"):
        quickly(NETWORK, against="numpy")


def test_by_default_a_time_limit_is_the_only_one(place, target, monkeypatch):
    engine = PacedEngine(target, 0.5, monkeypatch)
    monkeypatch.setattr(toolchains, "local_engine", lambda *_: engine)
    assert quickly(PRODUCT, trials=None, time_limit="40s").trials > 64


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_a_module_of_pytorchs_without_shapes_is_refused(place):
    import torch

    with pytest.raises(ImportFailed, match=r"the shape of its input 'input' is open; give it, e.g"):
        quickly(torch.nn.Linear(8, 4))
    with pytest.raises(ImportFailed, match="bad name 'x' in shapes: expected an input, input"):
        quickly(torch.nn.Linear(8, 4), shapes={"x": (1, 8)})
