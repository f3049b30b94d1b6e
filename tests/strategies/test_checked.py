"""The answers of a strategy are checked, and its errors name it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pytest_ansorbench.strategies import (
    BadAnswer,
    BuildLimit,
    ComparingMeasurement,
    FixedMeasurement,
    LastCheck,
    NoModel,
    PairedMeasurement,
    RandomTraces,
    RoundRobin,
    Strategy,
    TargetSpace,
    XGBoostModel,
)
from pytest_ansorbench.strategies.checked import (
    CheckedMeasurement,
    CheckedProposer,
    checked_measurement,
    start_cost_model,
    train_cost_model,
)


class Recorder:
    """A proposer that notes what it is asked, or fails."""

    def __init__(self, error=None):
        self.error = error
        self.asked = []

    def start(self, setup):
        return self

    def _note(self, *asked):
        self.asked.append(asked)
        if self.error is not None:
            raise self.error

    def propose(self, trials):
        self._note("propose", trials)
        return []

    def learn(self, batch):
        self._note("learn", batch)

    def recall(self, candidates):
        self._note("recall", candidates)

    def decisions(self):
        self._note("decisions")
        return {"seen": np.float64(1.5), "steps": (1, 2)}


def started(policy):
    return CheckedProposer(Strategy("mine", proposer=policy), None)


def test_every_question_reaches_the_proposer():
    recorder = Recorder()
    proposer = started(recorder)
    assert proposer.propose(3) == []
    proposer.learn(["seen"])
    proposer.recall(["known"])
    assert proposer.decisions() == {"seen": 1.5, "steps": [1, 2]}
    assert recorder.asked == [
        ("propose", 3),
        ("learn", ["seen"]),
        ("recall", ["known"]),
        ("decisions",),
    ]


@pytest.mark.parametrize(
    ("ask", "note"),
    [
        (lambda proposer: proposer.propose(1), "while asking strategy 'mine' for candidates"),
        (lambda proposer: proposer.learn([]), "while telling strategy 'mine' what was measured"),
        (
            lambda proposer: proposer.recall([]),
            "while telling strategy 'mine' what it had proposed before",
        ),
        (lambda proposer: proposer.decisions(), "while asking strategy 'mine' for its decisions"),
    ],
)
def test_an_error_keeps_its_type_and_says_when_it_happened(ask, note):
    error = KeyError("planted")
    with pytest.raises(KeyError) as raised:
        ask(started(Recorder(error)))
    assert raised.value is error
    assert error.__notes__ == [note]


@pytest.mark.parametrize("live", [None, Recorder, object()])
def test_what_is_no_proposer_is_refused(live):
    class Policy:
        def start(self, setup):
            return live

    with pytest.raises(BadAnswer, match="with the methods propose, learn, recall, decisions") as e:
        started(Policy())
    assert e.value.__notes__ == ["while starting strategy 'mine'"]


@pytest.mark.parametrize("decisions", [None, 3, {"at": object()}, {"nan": float("nan")}])
def test_decisions_that_are_no_json_are_refused(decisions):
    recorder = Recorder()
    recorder.decisions = lambda: decisions
    with pytest.raises(BadAnswer, match="bad decisions") as e:
        started(recorder).decisions()
    assert e.value.method is recorder.decisions


class Answering:
    """A measurement policy with a fixed answer."""

    def __init__(self, answer):
        self.answer = answer

    def measure(self, kernel, best_s):
        return self.answer


def measured(answer):
    strategy = Strategy("mine", proposer=RandomTraces(), measurement=Answering(answer))
    return CheckedMeasurement(strategy).measure(None, None)


@pytest.mark.parametrize("answer", [(0.5,), [1, 2.0], np.array([0.5, 0.25], np.float32)])
def test_latencies_are_floats(answer):
    latencies = measured(answer)
    assert latencies == tuple(answer)
    assert {type(latency) for latency in latencies} == {float}


@pytest.mark.parametrize("answer", [None, 0.5, (), (0.0,), (-1.0,), ("1",), (float("inf"),)])
def test_latencies_that_are_none_are_refused(answer):
    with pytest.raises(BadAnswer, match=r"bad latencies .*: expected seconds above 0"):
        measured(answer)


class Comparing(Answering):
    """A measurement policy that compares, with the same answer."""

    def compare(self, kernel, incumbent, best_s):
        return self.answer


def test_a_policy_compares_if_the_strategys_own_does():
    def checked(policy):
        return checked_measurement(Strategy("mine", proposer=RandomTraces(), measurement=policy))

    assert not isinstance(checked(FixedMeasurement()), ComparingMeasurement)
    assert isinstance(checked(PairedMeasurement()), ComparingMeasurement)
    assert checked(Comparing([1, 2.0])).compare(None, None, 1.0) == (1.0, 2.0)
    with pytest.raises(BadAnswer, match="bad latencies") as e:
        checked(Comparing(None)).compare(None, None, 1.0)
    assert e.value.__notes__ == ["while strategy 'mine' compared a candidate"]


@dataclasses.dataclass(frozen=True)
class Giving:
    """A cost-model policy that gives what it is told to."""

    model: object

    def start(self):
        return self.model


def test_a_cost_model_is_started_if_there_is_one():
    def start(policy):
        return start_cost_model(Strategy("mine", proposer=RandomTraces(), cost_model=policy))

    assert start(NoModel()) is None
    assert start(XGBoostModel(7)).num_warmup_samples == 7
    with pytest.raises(BadAnswer, match="with the methods predict, update"):
        start(Giving("a model"))


def test_an_error_in_training_names_the_strategy():
    class Model:
        def predict(self, context, candidates):
            return np.zeros(len(candidates))

        def update(self, context, candidates, results):
            raise ZeroDivisionError

    strategy = Strategy("mine", proposer=RandomTraces(), cost_model=Giving(Model()))
    with pytest.raises(ZeroDivisionError) as raised:
        train_cost_model(strategy, start_cost_model(strategy), None, [], [])
    assert raised.value.__notes__ == ["while training the cost model of strategy 'mine'"]


@pytest.mark.parametrize(
    ("slot", "expected", "others"),
    [
        ("proposer", "an object with a method start", [None]),
        ("cost_model", "an object with a method start", [None]),
        ("space", "an object with a method start", [None]),
        ("measurement", "an object with a method measure", [None]),
        ("scheduler", "an object with a method next_task", []),
        ("last_check", r"LastCheck\(\) or None", [BuildLimit()]),
        ("build_limit", r"BuildLimit\(\) or None", [30.0, LastCheck()]),
    ],
)
def test_a_strategy_is_made_of_policies(slot, expected, others):
    classes = [XGBoostModel, FixedMeasurement, TargetSpace, RoundRobin, LastCheck, BuildLimit]
    for value in [3, "yes", object(), *classes, *others]:
        parts = {"proposer": RandomTraces(), slot: value}
        with pytest.raises(ValueError, match=rf"^bad {slot} .*: expected {expected}"):
            Strategy("mine", **parts)
