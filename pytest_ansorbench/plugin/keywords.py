"""What the markers of a test say."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ansorbench.plugin.selection import MARKER


def keywords_of(item: pytest.Item) -> dict[str, Any]:
    """The keywords of a test's markers: they add up from module to function, the closest wins.

    Raises:
        pytest.UsageError: A marker has arguments without keywords.
    """
    marker = item.get_closest_marker(MARKER)
    if marker is not None and marker.args:
        raise pytest.UsageError(
            f"bad marker argument {marker.args[0]!r}: expected keywords, "
            "e.g. ansor_bench(trials=1000)"
        )
    keywords: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(MARKER))):
        keywords.update(marker.kwargs)
    return keywords
