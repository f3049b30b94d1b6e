"""Two runs that take turns draw the numbers they would have drawn alone."""

from __future__ import annotations

import numpy as np

from pytest_ansorbench.search.random_state import PrivateRandomState


def draws(state: PrivateRandomState, count: int) -> list[float]:
    with state.installed():
        return [float(np.random.uniform()) for _ in range(count)]


def test_turns_do_not_shift_the_numbers():
    alone = draws(PrivateRandomState(7), 6)
    first, second = PrivateRandomState(7), PrivateRandomState(8)
    in_turn = []
    for _ in range(3):
        in_turn += draws(first, 2)
        draws(second, 5)
    assert in_turn == alone
    assert draws(PrivateRandomState(8), 6) != alone


def test_the_outside_is_left_as_it_was():
    np.random.seed(3)
    expected = np.random.uniform(size=2)
    np.random.seed(3)
    one = np.random.uniform()
    draws(PrivateRandomState(0), 10)
    assert [one, np.random.uniform()] == list(expected)


def test_a_state_that_stays_is_one_text_however_often_it_is_dumped():
    state = PrivateRandomState(0)
    first = draws(state, 1)  # which makes the words for the next 300
    text, position = state.dump()
    rest = draws(state, 2)
    assert state.dump()[0] is text
    resumed = PrivateRandomState(1)
    resumed.load(text, position)
    after = draws(resumed, 700)
    assert first + after == draws(PrivateRandomState(0), 701) and after[:2] == rest
    draws(state, 624)
    assert state.dump()[0] != text
