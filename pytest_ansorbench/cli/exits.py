"""How the command ends: its exit codes, and the refusal of what cannot be done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

HOLDS: Final = 0
BROKEN: Final = 1
ERROR: Final = 2
UNDECIDED: Final = 3


class Refusal(Exception):
    """Wrong usage or an unreadable file; the message says which."""


def exit_code(outcomes: Iterable[str | None]) -> int:
    """The code for the worst of some outcomes; None, and no outcome at all, hold."""
    seen = set(outcomes)
    if "broken" in seen:
        return BROKEN
    return UNDECIDED if "undecided" in seen else HOLDS
