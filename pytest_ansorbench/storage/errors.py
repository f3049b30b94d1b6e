"""What can go wrong with a result file."""


class StorageError(Exception):
    """A result cannot be written or read; names the file and says what to do."""


class MissingResultError(StorageError):
    """There is no such result."""


class UnwritableError(StorageError):
    """The folder of stored results and journals cannot be written."""
