"""Laws of a sliding window, on random shapes."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_ansorbench.workloads import BadShape
from pytest_ansorbench.workloads.operators.window import Window

windows = st.builds(
    Window,
    kernel=st.integers(1, 5),
    stride=st.integers(1, 4),
    padding=st.integers(0, 3),
    dilation=st.integers(1, 3),
)
extents = st.integers(1, 20)


def starts(window, extent):
    """First elements of the windows that lie within the padded axis, counted one by one."""
    last_tap = window.dilation * (window.kernel - 1)
    padded = extent + 2 * window.padding
    return [s for s in range(0, padded, window.stride) if s + last_tap < padded]


@given(windows, extents)
def test_output_extent_is_the_number_of_windows(window, extent):
    assert max(0, window.output_extent(extent)) == len(starts(window, extent))


@given(windows, extents)
def test_only_windows_that_fit_are_accepted(window, extent):
    try:
        window.require_fit({"length": extent})
    except BadShape as error:
        fits = False
        longest = int(str(error).rpartition(" ")[2])
        assert longest < window.kernel
        narrower = Window(longest, window.stride, window.padding, window.dilation)
        narrower.require_fit({"length": extent})
    else:
        fits = True
    assert fits == bool(starts(window, extent))


@given(windows, extents)
def test_views_hold_what_each_tap_sees(window, extent):
    assume(starts(window, extent))
    data = np.arange(1.0, extent + 1)
    padded = [0.0] * window.padding + list(data) + [0.0] * window.padding
    seen = {tap: list(view) for (tap,), view in window.views(data, axes=(0,))}
    assert seen == {
        tap: [padded[start + tap * window.dilation] for start in starts(window, extent)]
        for tap in range(window.kernel)
    }


@given(windows, extents)
def test_positions_agree_with_views(window, extent):
    assume(starts(window, extent))
    for index, start in enumerate(starts(window, extent)):
        for tap in range(window.kernel):
            assert window.positions([index], [tap]) == [start + tap * window.dilation]
