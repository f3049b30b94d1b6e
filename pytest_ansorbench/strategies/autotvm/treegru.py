"""AutoTVM's neural model: a recurrent network that goes through the loops of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.autotvm.nests import CONTEXT, LOOPS
from pytest_ansorbench.strategies.autotvm.trees import OBJECTIVES, Objective
from pytest_ansorbench.strategies.decisions.model import DecisionModel
from pytest_ansorbench.strategies.errors import (
    StrategyError,
    require_at_least,
    require_choice,
    require_positive,
)
from pytest_ansorbench.strategies.neural import repeatable, torch_for


@dataclass(frozen=True)
class TreeGRU:
    """A recurrent network over the tree of a program's loops (sections 3.1 and 4), by PyTorch.

    A loop's context is embedded; a gated recurrent unit makes its state of that embedding and of
    the sum of the states of the loops within it, from the innermost out (the child-sum unit of Tai
    et al., arXiv:1503.00075). Of the state of the whole program two layers make its score, which
    is trained as `RankingTrees` are. It takes features of `NestInputs`. The paper does not name
    activations; they are rectifiers, where its authors' sigmoids learn less in as many steps.

    Attributes:
        objective: `rank` or `regression`.
        embedded: Size of an embedding; the paper's emb_dim (appendix, configuration).
        hidden: Size of a state; the paper's hidden_size.
        steps: Steps of training, by Adam. Its authors' code has up to 500
            (github.com/merrymercy/tvm, treegru_tuner.py), which order programs no better.
        batch: Trials of a step; this and what follows as in that code.
        rate: Learning rate.
        decay: Of weights.
        clip: Norm of a gradient at most.
    """

    objective: Objective = "rank"
    embedded: int = 128
    hidden: int = 128
    steps: int = 200
    batch: int = 128
    rate: float = 7e-4
    decay: float = 1e-4
    clip: float = 5.0

    def __post_init__(self) -> None:
        require_choice(self, "objective", OBJECTIVES)
        require_at_least(self, 1, "embedded", "hidden", "steps", "batch")
        require_at_least(self, 0, "decay")
        require_positive(self, "rate", "clip")

    def check_installed(self) -> None:
        """Raise a `StrategyError` without PyTorch."""
        torch_for(self)

    def fit(
        self,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
        trust: NDArray[np.float64],
        seed: int,
        prior: DecisionModel | None = None,
    ) -> DecisionModel | None:
        """Train anew; None if no program is valid. No prior knows such rows: there is none.

        Raises:
            StrategyError: PyTorch is not installed, or the rows are not those of `NestInputs`.
        """
        torch = torch_for(self)
        if rows.shape[1:] != (LOOPS * (1 + CONTEXT),):
            raise StrategyError(f"bad rows of shape {rows.shape}: TreeGRU expects NestInputs()")
        if not throughput.any():
            return None
        told = _Forest.of(rows).contexts
        scale = told.std(axis=0)
        with repeatable(torch, seed):
            network = _Network(torch, self, told.mean(axis=0), np.where(scale > 0.0, scale, 1.0))
            self._train(torch, network, rows, throughput)
        return network

    def _train(
        self,
        torch: Any,
        network: _Network,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
    ) -> None:
        parameters = [*network.layers.parameters()]
        adam = torch.optim.Adam(parameters, lr=self.rate, weight_decay=self.decay)
        truth = torch.tensor(throughput, dtype=torch.float32)
        whole = _Forest.of(rows)
        for _ in range(self.steps):
            forest, place = whole, torch.arange(len(rows))
            if len(rows) > self.batch:
                place = torch.randperm(len(rows))[: self.batch]
                forest = _Forest.of(rows[place.numpy()])
            loss = self._loss(torch, network(forest), truth[place])
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, self.clip)
            adam.step()

    def _loss(self, torch: Any, scores: Any, truth: Any) -> Any:
        if self.objective == "regression":
            return torch.mean((scores - truth) ** 2)
        faster = truth[:, None] > truth[None, :]
        apart = (scores[:, None] - scores[None, :])[faster]
        # A batch of equals has no pair.
        return torch.nn.functional.softplus(-apart).sum() / max(1, len(apart))


@dataclass(frozen=True, eq=False)
class _Forest:
    """Loops of several programs, and a root for each program before them."""

    contexts: NDArray[np.float32]  # (loops, CONTEXT)
    parents: NDArray[np.int64]  # -1 for a root
    # Places of loops without a loop within, then of those around these, ..., then of the roots.
    levels: list[NDArray[np.int64]]

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> _Forest:
        programs = len(rows)
        loops = rows.reshape(programs, LOOPS, 1 + CONTEXT)
        there = ~np.isnan(loops[:, :, 0])
        program, _ = np.nonzero(there)
        # Where each loop has gone; in the last column, which is also at -1, the program's root.
        places = np.full((programs, LOOPS + 1), -1)
        places[:, :-1][there] = programs + np.arange(len(program))
        places[:, -1] = np.arange(programs)
        inside = places[program, loops[there][:, 0].astype(np.int64)]
        parents = np.concatenate([np.full(programs, -1), inside])
        contexts = np.zeros((len(parents), CONTEXT), dtype=np.float32)
        contexts[programs:] = np.nan_to_num(loops[there][:, 1:])
        height = np.zeros(len(parents), dtype=np.int64)
        for at in range(len(parents) - 1, programs - 1, -1):  # those within come later
            height[parents[at]] = max(height[parents[at]], height[at] + 1)
        height[:programs] = height.max(initial=0) + 1
        levels = [np.flatnonzero(height == level) for level in range(height.max(initial=0) + 1)]
        return cls(contexts, parents, [level for level in levels if len(level)])


class _Network:
    def __init__(
        self, torch: Any, policy: TreeGRU, offset: NDArray[Any], scale: NDArray[Any]
    ) -> None:
        nn = torch.nn
        self._torch = torch
        self._offset, self._scale = offset, scale
        self._hidden = policy.hidden
        self.layers = nn.ModuleDict(
            {
                "embedding": nn.Sequential(nn.Linear(CONTEXT, policy.embedded), nn.ReLU()),
                "unit": nn.GRUCell(policy.embedded, policy.hidden),
                "decoder": nn.Sequential(
                    nn.Linear(policy.hidden, policy.hidden),
                    nn.ReLU(),
                    nn.Linear(policy.hidden, 1),
                ),
            }
        )

    def __call__(self, forest: _Forest) -> Any:
        """Scores of programs, a tensor of shape (programs,)."""
        torch, layers = self._torch, self.layers
        told = (forest.contexts - self._offset) / self._scale
        embedded = layers["embedding"](torch.tensor(told, dtype=torch.float32))
        within = torch.zeros(len(told), self._hidden)
        state = within
        for level in map(torch.from_numpy, forest.levels):
            state = layers["unit"](embedded[level], within[level])
            parents = torch.from_numpy(forest.parents)[level]
            if parents[0] >= 0:
                within = within.index_add(0, parents, state)
        return layers["decoder"](state).squeeze(1)

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        with repeatable(self._torch, 0), self._torch.no_grad():
            scores: NDArray[np.float64] = self(_Forest.of(rows)).numpy().astype(np.float64)
        return scores
