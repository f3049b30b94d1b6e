"""Searches in another interpreter, with its TVM: a host process there, and what it is asked."""

from pytest_ansorbench.hosted.process import HostProcess
from pytest_ansorbench.hosted.search import HostedSearch, HostedStrategy, UnhostableError

__all__ = ["HostProcess", "HostedSearch", "HostedStrategy", "UnhostableError"]
