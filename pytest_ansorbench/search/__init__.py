"""One search: the round loop, its clock, and what keeps it apart from other searches."""

from pytest_ansorbench.search.candidates import (
    CandidateError,
    pack_program,
    select,
    unpack,
    unpack_program,
)
from pytest_ansorbench.search.checkpoint import ResumeError
from pytest_ansorbench.search.describe import TaskDescription, describe_tasks
from pytest_ansorbench.search.loop import Search

__all__ = [
    "CandidateError",
    "ResumeError",
    "Search",
    "TaskDescription",
    "describe_tasks",
    "pack_program",
    "select",
    "unpack",
    "unpack_program",
]
