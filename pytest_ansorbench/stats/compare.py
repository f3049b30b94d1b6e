"""From the runs of two arms to one comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_ansorbench.records import Comparison, Run
from pytest_ansorbench.stats.arms import summarize_arm
from pytest_ansorbench.stats.running_time_ratio import running_time_ratio
from pytest_ansorbench.stats.targets import fixed_target_s, own_targets_s
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio
from pytest_ansorbench.stats.trajectory import first_hit


class PairingError(ValueError):
    """The runs of two arms do not pair up, so comparing them would mean nothing."""


def compare(
    reference: Sequence[Run], candidate: Sequence[Run], *, tolerance: float, confidence: float
) -> Comparison:
    """Compare two arms on one case.

    Runs are paired by seed; their order does not matter. The three forms of the search-time
    ratio are

        S         ERT of the candidate / ERT of the reference, in seconds to the fixed target
        S_trials  the same, in trials
        S_paper   the same, in seconds, each seed's target being its reference run's own best

    Args:
        reference: The reference arm's runs, one per seed.
        candidate: The candidate arm's runs, of the same case and seeds.
        tolerance: Throughput to concede in the targets, a fraction in [0, 1).
        confidence: Confidence of the intervals, in (0, 1).

    Returns:
        The comparison.

    Raises:
        PairingError: The arms differ in case, seeds or flops, an arm is empty, mixes
            strategies or has a seed twice.
        ValueError: `tolerance` or `confidence` is out of range.
    """
    reference, candidate = _by_seed(reference), _by_seed(candidate)
    _check_pairs(reference, candidate)
    target_s = fixed_target_s(reference, tolerance)
    own_s = own_targets_s(reference, tolerance)
    hits_reference = [first_hit(run, target_s) for run in reference]
    hits_candidate = [first_hit(run, target_s) for run in candidate]
    return Comparison(
        case=reference[0].case,
        target_gflops=reference[0].flops / target_s / 1e9 if target_s else math.inf,
        reference=summarize_arm(reference, target_s),
        candidate=summarize_arm(candidate, target_s),
        search_ratio=running_time_ratio(hits_reference, hits_candidate, "search_s", confidence),
        search_ratio_paper=running_time_ratio(
            [first_hit(run, own) for run, own in zip(reference, own_s, strict=True)],
            [first_hit(run, own) for run, own in zip(candidate, own_s, strict=True)],
            "search_s",
            confidence,
        ),
        search_ratio_trials=running_time_ratio(
            hits_reference, hits_candidate, "trials", confidence
        ),
        throughput_ratio=throughput_ratio(reference, candidate, confidence),
    )


def _by_seed(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.seed)


def _check_pairs(reference: Sequence[Run], candidate: Sequence[Run]) -> None:
    """Refuse arms that do not pair up."""
    for arm, runs in (("reference", reference), ("candidate", candidate)):
        seeds = [run.seed for run in runs]
        strategies = sorted({run.strategy for run in runs})
        if not runs:
            raise PairingError(f"bad {arm} arm []: expected at least one run")
        if len(set(seeds)) != len(seeds):
            raise PairingError(f"bad {arm} seeds {seeds!r}: expected each seed once")
        if len(strategies) != 1:
            raise PairingError(f"bad {arm} arm of {strategies!r}: expected a single strategy")
    seeds_reference = [run.seed for run in reference]
    seeds_candidate = [run.seed for run in candidate]
    if seeds_reference != seeds_candidate:
        raise PairingError(
            f"bad candidate seeds {seeds_candidate!r}: expected those of the reference, "
            f"{seeds_reference!r}"
        )
    cases = sorted({(run.case, run.flops) for run in (*reference, *candidate)})
    if len(cases) != 1:
        raise PairingError(f"bad cases {cases!r}: expected runs of one case with one flops count")
