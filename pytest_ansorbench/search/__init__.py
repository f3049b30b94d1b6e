"""One search: the round loop, its clock, and what keeps it apart from other searches."""

from pytest_ansorbench.search.loop import Search

__all__ = ["Search"]
