"""PyTorch for models that are neural networks: an extra, and the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_ansorbench.strategies.errors import StrategyError


def torch_for(model: object) -> Any:
    """PyTorch.

    Raises:
        StrategyError: It is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise StrategyError(
            f"{type(model).__name__} takes PyTorch ({error}): "
            "pip install 'pytest-ansorbench[torch]'"
        ) from None
    return torch


@contextmanager
def repeatable(torch: Any, seed: int) -> Iterator[None]:
    """Have PyTorch draw the same each time, on one thread, and leave it as it was."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
