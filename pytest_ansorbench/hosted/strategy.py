"""A strategy that another interpreter runs: an arm such as `default@old`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ansorbench.hosted.process import HostProcess
from pytest_ansorbench.workloads import OPERATORS

if TYPE_CHECKING:
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case


class UnhostableCaseError(ValueError):
    """A case that another interpreter does not have."""


@dataclass(frozen=True)
class HostedStrategy:
    """A strategy of the package, run by the host of a toolchain.

    Attributes:
        name: Name of the arm, e.g. `default@old`.
        strategy: The strategy as this interpreter has it.
        host: Runs it there.
        description: One line for listings.
    """

    name: str
    strategy: Strategy
    host: HostProcess = field(compare=False)
    description: str = ""

    def check(self, case: Case) -> None:
        """Check that the host has a case: it can only be told of by its id.

        Raises:
            UnhostableCaseError: It is none of the operators that ship with the package.
        """
        shipped: Sequence[Case] = OPERATORS
        if not any(one.id == case.id and type(one) is type(case) for one in shipped):
            raise UnhostableCaseError(
                f"bad strategy {self.name!r} for the case {case.id}: expected an operator that "
                "ships with the package; the other interpreter knows of no others"
            )
