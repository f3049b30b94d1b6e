"""The settings of a bench for one arm and one repeat, whose outcome is wanted and no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from pytest_ansorbench.environment import device_name, resolve_target
from pytest_ansorbench.measure.side_by_side import Span
from pytest_ansorbench.options.conflicts import check_conflicts
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.records import IMPLEMENTATIONS
from pytest_ansorbench.workloads.case import Case, NetworkCase

_FIXED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "experiment.repeats": 1,
        "experiment.noise_check_s": 0.0,
        # There is no ratio to be known: the winner's latency is a figure for its user.
        "experiment.final_sets": Span(2, 2),
        # By the gradient alone tasks that take little of the time get hardly any trials.
        "experiment.scheduler": "balanced",
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


def as_networks_run(settings: Settings, cases: Sequence[Case]) -> Settings:
    """Settings by which tasks of networks find caches as the network leaves them.

    Unless they say otherwise, or it is no CPU of this machine or a cluster's.

    Raises:
        ToolchainError: There is no such target.
    """
    said = settings.engine.caches is not None or settings.engine.flush_cache_mb
    if said or settings.remote.address is not None:
        return settings
    if not any(isinstance(case, NetworkCase) for case in cases):
        return settings
    if device_name(resolve_target(settings.target)) != "cpu":
        return settings
    return replace(settings, engine=replace(settings.engine, caches="network"))
