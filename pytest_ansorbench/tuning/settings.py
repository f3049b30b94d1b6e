"""The settings of a bench for one arm and one repeat, whose outcome is wanted and no verdict."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pytest_ansorbench.measure.side_by_side import Span
from pytest_ansorbench.options.conflicts import check_conflicts
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.records import IMPLEMENTATIONS

_FIXED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "experiment.repeats": 1,
        "experiment.noise_check_s": 0.0,
        # There is no ratio to be known: the winner's latency is a figure for its user.
        "experiment.final_sets": Span(2, 2),
        "criteria.progress": "believed",
    }
)


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Settings to tune by: the defaults, except for some fields by their paths.

    Raises:
        ConflictError: Two of them contradict each other.
        CachesError: Caches are to be emptied and not to be cold.
        BudgetError: The budget is smaller than a round.
    """
    settings = Settings.of({**_FIXED, **values})
    check_conflicts(settings)
    settings.budget.check(tasks=1)
    if settings.remote.address is not None:  # baselines are timed on this machine
        return settings
    wanted = {"untuned", *settings.experiment.reference_kernels}
    timed = tuple(one for one in IMPLEMENTATIONS if one in wanted)
    return Settings.of({**_FIXED, **values, "experiment.reference_kernels": timed})
