"""Which tests tune a case, which of them are asked for, and what their markers say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from pytest_ansorbench.workloads import Case

FIXTURE: Final = "ansor_bench"
MARKER: Final = "ansor_bench"
SELECTED: Final = pytest.StashKey[bool]()
"""In the stash of a session once its tests are selected, none of them refused."""


def bench_items(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests that use the `ansor_bench` fixture."""
    return (item for item in items if FIXTURE in getattr(item, "fixturenames", ()))


def will_run(session: pytest.Session) -> bool:
    """Whether tests that tune a case are run after collection, which errors end without any."""
    option = session.config.option
    failed = session.testsfailed and not option.continue_on_collection_errors
    if failed or option.collectonly or not session.stash.get(SELECTED, False):
        return False
    return any(bench_items(session.items))


def case_of(item: pytest.Item) -> Case | None:
    """The case that a test is parametrized with, whatever the parameter is called."""
    from pytest_ansorbench.workloads.case import is_case

    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec is not None else ():
        if is_case(value):
            return value
    return None


def case_id(item: pytest.Item) -> str | None:
    """Id of that case."""
    case = case_of(item)
    return None if case is None else str(case.id)


def select(items: list[pytest.Item], wanted: Sequence[str], config: pytest.Config) -> None:
    """Deselect all tests but those of the cases with the wanted ids.

    Raises:
        pytest.UsageError: No collected test has one of the ids.
    """
    known = [case for case in map(case_id, bench_items(items)) if case is not None]
    chosen = {case for text in wanted for case in ids_in(text, known)}
    deselect(items, [item for item in items if case_id(item) not in chosen], config)


def ids_in(text: str, known: Sequence[str]) -> list[str]:
    """The known ids in a text, with commas between them.

    Ids may have commas as well: the longest that begins somewhere counts, if known ones follow.

    Raises:
        pytest.UsageError: It is not made of known ids.
    """
    there, parts = set(known), text.split(",")
    found: dict[int, list[str]] = {len(parts): []}  # by part, the ids in all from there on
    for start in reversed(range(len(parts))):
        for end in range(len(parts), start, -1):
            name = ",".join(parts[start:end])
            name = name if name in there else name.strip()
            if name in there and end in found:
                found[start] = [name, *found[end]]
                break
    if 0 not in found:
        import difflib  # only a bench needs it

        if not known:
            raise pytest.UsageError(
                f"bad --ansor-case {text!r}: no collected test has a case as its parameter; "
                "-k selects tests by name"
            )
        unknown = next((part for part in map(str.strip, parts) if part not in there), text)
        close = difflib.get_close_matches(unknown, known, n=1) or known[:1]
        raise pytest.UsageError(
            f"bad --ansor-case {unknown!r}: expected the id of a collected case, e.g. {close[0]!r}"
        )
    return found[0]


def deselect(items: list[pytest.Item], unwanted: list[pytest.Item], config: pytest.Config) -> None:
    config.hook.pytest_deselected(items=unwanted)
    dropped = set(unwanted)
    items[:] = [item for item in items if item not in dropped]


def keywords_of(item: pytest.Item) -> dict[str, Any]:
    """The keywords of a test's markers: they add up from module to function, the closest wins.

    Raises:
        pytest.UsageError: A marker has arguments without keywords.
    """
    keywords: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(MARKER))):
        if marker.args:
            raise pytest.UsageError(
                f"bad marker argument {marker.args[0]!r}: expected keywords, "
                "e.g. ansor_bench(trials=1000)"
            )
        keywords.update(marker.kwargs)
    return keywords
