"""Draft, replay, measure: a search in the space of a sketch's decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.cost_model import is_blind
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.experience import Experience
from pytest_ansorbench.strategies.decisions.model import (
    BoostedTrees,
    DecisionModel,
    DecisionModelPolicy,
)
from pytest_ansorbench.strategies.decisions.replays import Drafted, Replays
from pytest_ansorbench.strategies.decisions.space import Point, shared_out
from pytest_ansorbench.strategies.draft.evidence import Evidence
from pytest_ansorbench.strategies.draft.neighbourhood import Neighbourhood
from pytest_ansorbench.strategies.draft.prior import Prior, Weighed
from pytest_ansorbench.strategies.draft.sharing import SharpeningShares
from pytest_ansorbench.strategies.draft.survey import Survey
from pytest_ansorbench.strategies.draft.vector_units import Guess, VectorUnits
from pytest_ansorbench.strategies.errors import (
    require_at_least,
    require_kind_or_none,
    require_method,
    require_positive,
    require_share,
)
from pytest_ansorbench.strategies.proposer import DecisionPolicy, Observation, PointSetup, Proposer


class SharePolicy(Protocol):
    """Shares a round's trials out among the sketches."""

    def shares(self, gflops: Sequence[float], trials: Sequence[float]) -> NDArray[np.float64]:
        """The share of each sketch; see `SharpeningShares.shares`."""
        ...


@dataclass(frozen=True)
class Draft(DecisionPolicy):
    """A search that learns from decisions, and makes few programs.

    A genetic search makes a thousand programs a round, at milliseconds each, to pick 16 of them.
    Here a model predicts throughput from the decisions themselves: thousands of vectors of
    decisions take as long as ten programs. Only the best drafts are made into programs, and all
    of these are measured.

    The first batch goes by what is known beforehand: others' measurements, or else what lanes and
    registers have to do with it. If that is nothing, it is drawn at random. Batches are small at
    first, when each measurement teaches most.

    Attributes:
        model: Predicts throughput from decisions.
        neighbourhood: Which vectors are scored.
        sharing: How trials are shared out among sketches.
        survey: What is asked of a cost model that is trained beforehand; None for nothing.
        experience: What was measured of other workloads before; None for nothing.
        vector_units: What is guessed where others have measured nothing, and which blocks of
            registers are explored; None for neither.
        prior: How much these two count.
        first_trials: Trials of the first batch.
        opening_trials: Trials of the first batch where something is known beforehand; the next
            ones double what there is, up to `first_trials`.
        growth: Largest batch, as share of the trials so far; the round's size stays its limit.
        explored_share: Share of batches that goes to blocks of registers tried least; to random
            points where there is no guess.
        full_trials: Trials that a task has to expect for all of this neighbourhood. One that
            expects fewer gets its share of it.
    """

    model: DecisionModelPolicy = field(default_factory=BoostedTrees)
    neighbourhood: Neighbourhood = field(default_factory=Neighbourhood)
    sharing: SharePolicy = field(default_factory=SharpeningShares)
    survey: Survey | None = field(default_factory=Survey)
    experience: Experience | None = None
    vector_units: VectorUnits | None = field(default_factory=VectorUnits)
    prior: Prior = field(default_factory=Prior)
    first_trials: int = 8
    opening_trials: int = 2
    growth: float = 0.25
    explored_share: float = 0.1
    full_trials: int = 64

    def __post_init__(self) -> None:
        require_method(self, "model", "fit", example="BoostedTrees()")
        require_method(self, "neighbourhood", "points", "scaled", example="Neighbourhood()")
        require_method(self, "sharing", "shares", example="SharpeningShares()")
        require_method(self, "prior", "faded", "weight", example="Prior()")
        require_kind_or_none(self, survey=Survey, experience=Experience, vector_units=VectorUnits)
        require_at_least(self, 1, "first_trials", "opening_trials", "full_trials")
        require_positive(self, "growth")
        require_share(self, "explored_share")

    def start(self, setup: PointSetup) -> Proposer:
        """The live search of one task of one run."""
        return _Draft(self, setup)


class _Draft:
    def __init__(self, policy: Draft, setup: PointSetup) -> None:
        self._policy = policy
        self._setup = setup
        self._rng = setup.rng
        self._cost_model = setup.cost_model
        self._known = Evidence()
        if policy.experience is not None:
            policy.experience.known()  # refused here rather than in the middle of a run
        self._prior_weight = 0.0
        self._shares_of_round: list[float] = []
        self._decisions: dict[str, Any] = {}

    @cached_property
    def _space(self) -> DesignSpace:
        """Made by the first round, on the clock: it takes some programs to see the choices."""
        return self._setup.design_space()

    @cached_property
    def _guess(self) -> Guess | None:
        """A guess from lanes and registers; None for none."""
        policy, space = self._policy.vector_units, self._space
        nests = [one.nests for one in space.spaces]
        columns = space.encoding.columns
        return None if policy is None else policy.model(nests, columns, space.registers)

    @cached_property
    def _remembered(self) -> DecisionModel | None:
        """What earlier runs have measured of such sketches; None for nothing."""
        experience = self._policy.experience
        if experience is None:
            return None
        known = self._space.encoding.known(experience.known())
        count = len(known.throughput)
        trust = np.ones(count)
        fit = self._policy.model.fit
        return fit(known.features, known.throughput, trust, count) if count else None

    @cached_property
    def _replays(self) -> Replays:
        return Replays(self._space)

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        policy, done = self._policy, self._known.trials
        replays = self._replays
        replays.begin_round()
        if self._survey_due:
            self._look_around()
        prior = self._prior()
        wanted = min(trials, self._batch_trials(prior))
        shares = self._shares()
        self._shares_of_round = [round(float(share), 4) for share in shares]
        model = self._model(prior)
        if model is None:
            picks = replays.strangers(wanted, self._rng, shares)
        else:
            explored = int(self._rng.binomial(wanted, policy.explored_share))
            picks = self._drafts(model, wanted, explored, shares)
            if strangers := wanted - len(picks):
                picks += replays.strangers(strangers, self._rng)
        if not picks:
            return None
        notes = replays.payloads(picks)
        for note, one in zip(notes, picks, strict=True):
            note["predicted"] = one.predicted
        if not done and self._known.scores:
            notes[0]["surveyed"] = [
                {**self._space.note(point), "score": score} for point, score in self._known.scores
            ]
        return [
            drafted.program.candidate(payload=note)
            for drafted, note in zip(picks, notes, strict=True)
        ]

    def _batch_trials(self, prior: DecisionModel | None) -> int:
        """Trials of the next batch, if the round has room for them."""
        policy, done = self._policy, self._known.trials
        first = policy.first_trials
        if self._known.scores or prior is not None:
            first = min(first, max(policy.opening_trials, done))
        return max(first, int(policy.growth * done))

    def recall(self, candidates: Sequence[Candidate]) -> None:
        self._replays.recall(candidates)
        for candidate in candidates:
            surveyed = candidate.payload.get("surveyed", ())
            self._known.scores += [(self._space.point(one), one["score"]) for one in surveyed]

    def learn(self, batch: Sequence[Observation]) -> None:
        known, taken = self._known, self._replays.taken
        notes = [seen.candidate.payload for seen in batch]
        points = [self._space.point(note) for note in notes]
        gflops = [seen.gflops for seen in batch]
        known.gflops += zip((taken.get(one, one) for one in points), gflops, strict=True)
        best = known.best_gflops
        predicted = [note["predicted"] for note in notes]
        self._decisions = {
            "sketch_shares": self._shares_of_round,
            "prior_weight": round(self._prior_weight, 4),
            "drafts": {
                **self._replays.counts(),
                "predicted": [None if one is None else round(one, 3) for one in predicted],
                "measured": [round(one / best, 3) if best else 0.0 for one in gflops],
            },
        }

    def decisions(self) -> Mapping[str, Any]:
        return self._decisions

    @property
    def _survey_due(self) -> bool:
        nothing_yet = not self._known.gflops and not self._known.scores
        # Models that are trained when a run begins are of CPUs.
        on_cpu = not any(space.device for space in self._space.spaces)
        knows = on_cpu and self._cost_model is not None and not is_blind(self._cost_model)
        wanted = self._policy.survey is not None and nothing_yet and knows
        return wanted and self._remembered is None

    def _look_around(self) -> None:
        """Have the cost model score random programs, which stay free to be proposed.

        A model that other tasks have trained may have scores below zero for the slowest.
        """
        assert self._policy.survey is not None and self._cost_model is not None
        wanted = self._policy.survey.programs_for(self._trials_to_expect)
        drafted = self._replays.strangers(wanted, self._rng)
        asked = [one.program.candidate().measure_candidate for one in drafted]
        scores = np.asarray(self._cost_model.predict(self._setup.context, asked), np.float64)
        top = scores.max(initial=0.0)
        self._known.scores = [
            (one.point, max(0.0, float(score / top)))
            for one, score in zip(drafted, scores, strict=True)
            if top > 0.0
        ]
        self._replays.release(drafted)

    @property
    def _trials_to_expect(self) -> float:
        """The task's share of the budget, equal for all tasks of a network."""
        return self._setup.budget_trials / self._setup.tasks

    def _shares(self) -> NDArray[np.float64]:
        """How trials are shared out, by what is known of each sketch."""
        policy, known, sketches = self._policy, self._known, len(self._space.spaces)
        trials: Sequence[float] = known.trials_of_sketches(sketches)
        if not known.trials and known.scores and policy.survey is not None:
            trials = [policy.survey.confidence / sketches] * sketches
        return policy.sharing.shares(known.shown_by_sketches(sketches), trials)

    def _model(self, prior: DecisionModel | None) -> DecisionModel | None:
        """The model of all that is known; None while that is too little."""
        policy, rng = self._policy, self._rng
        points, throughput, trust = self._known.labelled(policy.survey)
        seed = int(rng.integers(2**31))
        if not throughput.any():
            return prior
        rows = self._space.rows(points)
        alone = prior is not None and rng.random() < policy.prior.own_share
        model = policy.model.fit(rows, throughput, trust, seed, None if alone else prior)
        return prior if model is None else model

    def _prior(self) -> DecisionModel | None:
        """What others measured, as far as it was right, and a guess, weaker with each trial.

        None if there is neither.
        """
        policy, known, self._prior_weight = self._policy.prior, self._known, 0.0
        model: DecisionModel | None = self._guess
        if self._remembered is not None:
            promised = self._remembered.predict(self._space.rows([one for one, _ in known.gflops]))
            gflops = [gflops for _, gflops in known.gflops]
            self._prior_weight = policy.weight([*zip(promised.tolist(), gflops, strict=True)])
            model = Weighed(self._remembered, model, self._prior_weight)
        return None if model is None else policy.faded(model, known.trials)

    def _drafts(
        self, model: DecisionModel, wanted: int, explored: int, shares: NDArray[np.float64]
    ) -> list[Drafted]:
        """The most promising programs, by the model, and of blocks that were tried least."""
        share = min(1.0, self._trials_to_expect / self._policy.full_trials)
        ranked = self._policy.neighbourhood.scaled(share).points(
            self._space.spaces,
            self._known.fastest,
            lambda points: model.predict(self._space.rows(points)),
            self._replays.taken.__contains__,
            self._rng,
        )
        replays = self._replays
        untried = self._least_tried(ranked) if explored else []
        picks = replays.programs(iter(untried), explored)
        rest = (point for point in shared_out(ranked, shares) if point not in replays.taken)
        picks += replays.programs(rest, wanted - explored)
        if not picks:
            return []
        predicted = model.predict(self._space.rows([one.point for one in picks]))
        return [
            replace(one, predicted=value)
            for one, value in zip(picks, predicted.tolist(), strict=True)
        ]

    def _least_tried(self, ranked: Sequence[Point]) -> list[Point]:
        """The first point of each block of registers: those first that the guess likes, untried.

        A model that has seen a block only in bad company believes that it is bad. Nothing without a
        guess, which says which blocks there are.
        """
        guess = self._guess
        if guess is None or not ranked:
            return []
        measured = self._space.rows([point for point, _ in self._known.gflops])
        tried = Counter(map(tuple, guess.blocks(measured).tolist()))
        rows = self._space.rows(ranked)
        first: dict[tuple[float, ...], int] = {}
        for place, block in enumerate(map(tuple, guess.blocks(rows).tolist())):
            first.setdefault(block, place)
        places = [*first.values()]
        worth = guess.predict(rows[places]) / [1 + tried[block] for block in first]
        return [ranked[places[at]] for at in np.argsort(-worth, kind="stable").tolist()]
