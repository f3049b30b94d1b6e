"""What came of a program."""

from __future__ import annotations

from pytest_ansorbench.measure.outcomes import Built, Measured


def test_a_program_that_failed_to_compile_was_not_run_and_beat_nobody() -> None:
    outcome = Measured.not_run(Built("build-error", 0.5, "planted", peak_memory_mb=7.0))
    assert (outcome.status, outcome.error, outcome.latencies_s) == ("build-error", "planted", ())
    assert (outcome.build_s, outcome.run_s, outcome.peak_memory_mb) == (0.5, 0.0, 7.0)
    assert (outcome.kept, outcome.lost_incumbent) == (None, False)
