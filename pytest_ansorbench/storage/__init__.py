"""Saved results: files, numbers, and what they were measured on."""

from pytest_ansorbench.storage.commit import describe_commit
from pytest_ansorbench.storage.errors import StorageError
from pytest_ansorbench.storage.files import read_result, write_result
from pytest_ansorbench.storage.machine import describe_machine
from pytest_ansorbench.storage.numbered import list_saved, save_numbered, slugify

__all__ = [
    "StorageError",
    "describe_commit",
    "describe_machine",
    "list_saved",
    "read_result",
    "save_numbered",
    "slugify",
    "write_result",
]
