"""`--ansor-case`: any id selects its case, whatever characters it has."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_ansorbench.plugin.selection import ids_in

IDS = st.lists(st.text(st.sampled_from("ab, \n|é") | st.characters()), min_size=1, max_size=5)


@given(IDS)
@example(["a,b", "a", "b"])
@example([",", ""])
@example(["  spaces  ", "spaces"])
def test_every_id_selects_its_case_alone(known):
    for one in known:
        assert ids_in(one, known) == [one]


@given(st.lists(st.text("ab,", min_size=1), min_size=1, max_size=4))
@example(["a,b", "a", "b,a"])
def test_known_ids_with_commas_between_them_are_always_found(known):
    """Not always the same ones: `a,b` may be one id or two."""
    text = ",".join(known)
    assert ",".join(ids_in(text, known)) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b", ["a,b"]),
        ("a, b", ["a", "b"]),
        ("b,a", ["b", "a"]),
        ("a,b,c", ["a", "b,c"]),
        ("a,b,b", ["a,b", "b"]),
    ],
)
def test_the_longest_id_counts(text, found):
    assert ids_in(text, ["a", "b", "a,b", "b,c"]) == found


@pytest.mark.parametrize(
    ("text", "unknown"), [("x", "x"), ("a,x", "x"), ("a,b,", ""), ("", ""), ("b,c,a,c", "c")]
)
def test_what_is_no_id_is_named(text, unknown):
    with pytest.raises(pytest.UsageError, match=rf"bad --ansor-case '{unknown}': expected the id"):
        ids_in(text, ["a", "b", "a,b", "b,c"])


CASES = """
import pytest
from tests.saved_cases import Saved

IDS = ["a,b", "a", "  spaces  ", "=1+1", "two\\nlines", "\\u5377\\u79ef", "../../up"]

@pytest.mark.ansor_bench(strategy="one,two")
@pytest.mark.parametrize("place, case", [*enumerate(map(Saved, IDS))])
def test_case(ansor_bench, place, case):
    ansor_bench(case)
"""


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ("a,b", [0]),
        ("a,=1+1", [1, 3]),
        ("  spaces  ", [2]),
        ("two\nlines,卷积,../../up", [4, 5, 6]),
    ],
)
def test_the_option_takes_them(project, wanted, places):
    project.write("test_cases.py", CASES)
    outcome = project.bench(f"--ansor-case={wanted}", "--collect-only", "-q")
    assert outcome.code == 0, outcome.text
    listed = [line for line in outcome.out.splitlines() if "test_case[" in line]
    assert len(listed) == len(places)
    assert all(f"test_case[{place}-" in line for place, line in zip(places, listed, strict=True))
