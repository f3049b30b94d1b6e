"""What can go wrong with a result file."""


class StorageError(Exception):
    """A result cannot be written or read; names the file and says what to do."""
