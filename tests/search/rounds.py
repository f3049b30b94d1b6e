"""Steps a search as an experiment does."""

from __future__ import annotations


def stepped(search, rounds):
    """Make so many rounds; returns what the journal keeps of them."""
    entries = []
    for _ in range(rounds):
        search.step()
        entries.append(search.last_round("label"))
    return entries
