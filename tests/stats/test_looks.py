"""After how many repeats it is looked, as users write it."""

from __future__ import annotations

import pytest

from pytest_ansorbench.stats.looks import Looks


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("auto", Looks(3, 12)),
        ("auto:8", Looks(3, 8)),
        ("4:9", Looks(4, 9)),
        (" 2 : 2", Looks(2, 2)),
        ("5 + 3", Looks(5, 8, if_suspect=True)),
    ],
)
def test_what_users_write_is_read_and_written_again(text: str, looks: Looks) -> None:
    assert Looks.parse(text) == looks
    assert Looks.parse(str(looks)) == looks


@pytest.mark.parametrize(
    "text", ["", "5", "auto:", "auto:2", "9:3", "0:3", "3:x", "a:b", "1:2:3", "0+3", "5+", "+5"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"5\+10 .*auto:12 or 3:12"):
        Looks.parse(text)


def test_there_is_a_look_after_each_repeat_and_one_in_any_case() -> None:
    looks = Looks(3, 6)
    assert list(looks.upto(2)) == [2]
    assert list(looks.upto(3)) == [3]
    assert list(looks.upto(5)) == [3, 4, 5]
    assert list(looks.upto(9)) == [3, 4, 5, 6]
