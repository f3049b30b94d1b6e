"""What an error says: of a toolchain how to mend it, of another the line that tells."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 300


class ToolchainError(RuntimeError):
    """Something a bench needs is missing or does not fit; the message says how to mend it."""


def last_line(error: BaseException) -> str:
    """Where a stack trace comes first, as TVM has it; its kind if it says nothing."""
    return _lines(error)[-1]


def first_line(error: BaseException) -> str:
    """Where more is said below; its kind if it says nothing."""
    return _lines(error)[0]


def _lines(error: BaseException) -> list[str]:
    lines = [line.strip()[:_LONGEST] for line in str(error).splitlines() if line.strip()]
    return lines or [type(error).__name__]
