"""Errors of the layers below, said with the options that they are about.

Those layers know no options: they raise the facts, and the cure is named here.
"""

from __future__ import annotations

import re
from typing import Final

from pytest_ansorbench.budget import BudgetError
from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.measure.settings import CachesError
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import MissingResultError

_FIELDS: Final = {
    "target": "target",
    "cores": "engine.cores",
    "linker": "remote.linker",
    "variant": "kernels.variants",
    "reference_kernels": "experiment.reference_kernels",
    "caches": "engine.caches",
    "flush_cache_mb": "engine.flush_cache_mb",
}
"""Fields of the settings that the environment may have to refuse."""


def in_options(error: Exception) -> str:
    """An error's message, with the options that cause and mend it."""
    if isinstance(error, BudgetError):
        return (
            f"bad {flag_of('budget.trials')} {error.trials}: expected {error.expected}; or make "
            f"rounds smaller with {flag_of('budget.round_trials')}"
        )
    if isinstance(error, CachesError):
        return (
            f"bad {flag_of('engine.caches')} {error.caches!r}: expected cold, as "
            f"{flag_of('engine.flush_cache_mb')} {error.flush_cache_mb} empties the caches; or "
            "leave one of them out"
        )
    if isinstance(error, MisfitError):
        flag = flag_of(_FIELDS[error.setting])
        return f"bad {flag} {error.value!r}: {error.problem}"
    if isinstance(error, ResumeError):
        flag = flag_of("resume")
        return f"bad {flag}: {error}; give the same settings, or start anew without {flag}"
    if isinstance(error, MissingResultError):
        json, save = flag_of("files.json"), flag_of("files.save")
        return f"{error}; {json} and {save} write one"
    return str(error)


def in_arguments(error: Exception) -> str:
    """An error's message, with the arguments of `pytest_ansorbench.tune` that cause and mend it."""
    told = in_options(error).replace(flag_of("experiment.reference_kernels"), "against")
    return re.sub(r"--ansor-([a-z-]+)", lambda flag: flag[1].replace("-", "_"), told)
