"""A search of one's own: steps from the fastest point so far."""

from pytest_ansorbench.strategies import (
    NoModel,
    PointSearch,
    PointSearchPolicy,
    Strategy,
    Suggestion,
)


class Climb(PointSearch):
    def __init__(self, space, rng):
        self.space, self.rng, self.best = space, rng, None

    def ask(self, wanted, taken):
        while True:
            here = self.best.point if self.best else self.space.draw(self.rng)
            yield Suggestion(self.space.fresh(here, taken, self.rng, near_share=0.8))

    def tell(self, tried):
        self.best = max([*tried, self.best or tried[0]], key=lambda one: one.gflops)


class Climbing(PointSearchPolicy):
    def search(self, space, rng, trials):
        return Climb(space, rng)


CLIMB = Strategy("climb", proposer=Climbing(), cost_model=NoModel())


def pytest_ansorbench_strategies(config):
    return [CLIMB]
