"""A connection to a Dask scheduler, or why there is none."""

from __future__ import annotations

from typing import Any

from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure.engine import EngineError


def check_dask() -> None:
    """Check that Dask is installed.

    Raises:
        ToolchainError: It is not.
    """
    try:
        import distributed  # noqa: F401 -- whether it can be imported
    except ImportError as error:
        raise ToolchainError(
            f"cannot import distributed ({error}): pip install 'pytest-ansorbench[cluster]'"
        ) from None


def connected(scheduler: str, timeout_s: float) -> Any:
    """A client of a scheduler, to be closed by the caller.

    Args:
        scheduler: Address, e.g. `tcp://127.0.0.1:8786`.
        timeout_s: Seconds to wait for it.

    Raises:
        ToolchainError: Dask is not installed.
        EngineError: There is no scheduler.
    """
    check_dask()
    from distributed import Client

    try:
        return Client(scheduler, timeout=timeout_s, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise EngineError(
            f"no Dask scheduler at {scheduler} within {timeout_s:g} s "
            f"({type(error).__name__}); start one with dask scheduler"
        ) from None
