"""Sentences on the controls of a session."""

from __future__ import annotations

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.controls import control_lines
from tests.report.rendered import lines_of
from tests.synthetic import CRITERIA, make_case_result, make_run


def controlled(
    again: float,
    latencies: list[float] | None = None,
    repeats: int = 4,
    reference: tuple[float, ...] = (4.0, 3.0, 2.0, 1.0),
) -> CaseResult:
    """A case whose control takes `again` times as long as the reference."""
    seeds = range(repeats)
    return make_case_result(
        reference=[make_run(seed=s, latencies=reference, final=1.0) for s in seeds],
        challengers={
            "fast": [
                make_run(
                    strategy="fast",
                    seed=s,
                    latencies=latencies or [4.0, 1.0],
                    seconds_per_trial=0.5,
                    final=1.0,
                )
                for s in seeds
            ],
            "default-again": [
                make_run(strategy="default-again", seed=s, seconds_per_trial=again, final=1.0)
                for s in seeds
            ],
        },
        control="default-again",
    )


def read(result: CaseResult) -> list[str]:
    """The sentences on one case."""
    return lines_of(control_lines([result], CRITERIA))


def test_a_case_without_a_control_says_nothing() -> None:
    assert read(make_case_result()) == []


def test_the_reference_against_itself_and_cut_off() -> None:
    cut, itself = read(controlled(1.0))
    assert itself == (
        "control: conv2d: default against itself: S 1.00 [1.00, 1.00], throughput ratio "
        "1.00 [1.00, 1.00]; as it should be, so ratios within these intervals are noise on this "
        "machine"
    )
    assert cut == (
        "control: conv2d: default cut off after 1.0 s, the time that fast takes to the target, has "
        "25% of its final search throughput: that much is what the time saved is worth"
    )


def test_a_control_that_shows_something_warns() -> None:
    *_, itself = read(controlled(2.0))
    assert "; 1 is outside the interval of S, as by chance in one of 20 sessions: if it is so" in (
        itself
    )


def test_a_control_without_an_interval_tells_nothing() -> None:
    *_, itself = read(controlled(1.0, repeats=3))
    assert "S 1.00 [0, inf], throughput ratio 1.00 [0, inf]; without an interval this" in itself
    nothing = [make_run(seed=s, latencies=[None]) for s in range(4)]
    again = [make_run(strategy="again", seed=s, latencies=[None]) for s in range(4)]
    [itself] = read(make_case_result("conv2d", nothing, {"again": again}, control="again"))
    assert itself.endswith(
        "S n/a, throughput ratio n/a; without an interval this control tells nothing"
    )


def test_a_challenger_no_better_than_stopping_early_is_told() -> None:
    cut, _ = read(controlled(1.0, [4.0] * 4 + [1.0], reference=(4.0, 1.0, 1.0, 1.0)))
    assert "has 100% of its final search throughput: simply stopping it early would have" in cut
    cut, _ = read(controlled(1.0, [4.0]))
    assert cut.endswith("fast never reaches the target, so there is no time to cut default off at")


def test_a_challenger_that_takes_longer_than_the_reference_saves_no_time() -> None:
    cut, _ = read(controlled(1.0, [4.0] * 9 + [1.0]))
    assert cut.endswith(
        "fast takes 5.0 s to the target, and no search of default more than 4.0 s: it saves no time"
    )
