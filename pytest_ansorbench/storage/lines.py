"""Entries of a journal as lines of text, and back."""

from __future__ import annotations

import json
from typing import Final

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.storage.checks import check_entry
from pytest_ansorbench.storage.entries import KINDS, Entry
from pytest_ansorbench.storage.strict_json import parse_json

_KIND_OF: Final = {cls: kind for kind, cls in KINDS.items()}


def to_line(entry: Entry) -> str:
    """One line of JSON, without its newline."""
    line = {"kind": _KIND_OF[type(entry)], **to_json(entry)}
    return json.dumps(line, allow_nan=False, separators=(",", ":"))


def from_line(text: str) -> Entry:
    """The entry that a line stands for, with everything checked.

    Raises:
        ValueError: It is none, or is damaged; the message says what was expected.
    """
    try:
        data = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected JSON, got {error}") from None
    kind = data.pop("kind", None) if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"expected a line with a kind, one of {', '.join(KINDS)}")
    entry: Entry = from_json(KINDS[kind], data)
    check_entry(entry)
    return entry
