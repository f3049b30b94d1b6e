"""One search: the round loop, its clock, and what keeps it apart from other searches."""

from pytest_ansorbench.search.candidates import select, unpack
from pytest_ansorbench.search.checkpoint import ResumeError
from pytest_ansorbench.search.describe import TaskDescription, describe_tasks
from pytest_ansorbench.search.loop import Search

__all__ = [
    "ResumeError",
    "Search",
    "TaskDescription",
    "describe_tasks",
    "select",
    "unpack",
]
