"""Saved results and journals: files, numbers, and what they were measured on."""

from pytest_ansorbench.storage.changes import (
    changes_since,
    result_changes,
    suite_changes_since,
)
from pytest_ansorbench.storage.cleaning import cleanable, left_over
from pytest_ansorbench.storage.commit import describe_commit
from pytest_ansorbench.storage.entries import from_line, to_line
from pytest_ansorbench.storage.files import (
    CutShortError,
    MissingResultError,
    StorageError,
    UnwritableError,
    check_output,
    newest,
    read_result,
    readable,
    write_rebuilt,
    write_result,
)
from pytest_ansorbench.storage.journal import (
    Journal,
    JournalTail,
    Past,
    alone_in,
    find_journal,
    is_being_written,
    is_journal,
    journal_name,
    list_journals,
    read_journal,
)
from pytest_ansorbench.storage.machine import (
    fingerprint,
    machine_difference,
    package_difference,
    read_peak,
    write_peak,
)
from pytest_ansorbench.storage.merge import merge_results
from pytest_ansorbench.storage.numbered import (
    check_name,
    find_saved,
    list_saved,
    read_saved,
    result_name,
    save_numbered,
)

__all__ = [
    "CutShortError",
    "Journal",
    "JournalTail",
    "MissingResultError",
    "Past",
    "StorageError",
    "UnwritableError",
    "alone_in",
    "changes_since",
    "check_name",
    "check_output",
    "cleanable",
    "describe_commit",
    "find_journal",
    "find_saved",
    "fingerprint",
    "from_line",
    "is_being_written",
    "is_journal",
    "journal_name",
    "left_over",
    "list_journals",
    "list_saved",
    "machine_difference",
    "merge_results",
    "newest",
    "package_difference",
    "read_journal",
    "read_peak",
    "read_result",
    "read_saved",
    "readable",
    "result_changes",
    "result_name",
    "save_numbered",
    "suite_changes_since",
    "to_line",
    "write_peak",
    "write_rebuilt",
    "write_result",
]
