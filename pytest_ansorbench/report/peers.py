"""How kernels compare with other libraries that took turns with them, in words."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from pytest_ansorbench.records import (
    IMPLEMENTATIONS,
    CaseResult,
    Implementation,
    Peer,
    ReferenceKernel,
)
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.verdicts import SPELT_OUT
from pytest_ansorbench.report.wording import counted, ratio_text
from pytest_ansorbench.stats.peers import peer_of
from pytest_ansorbench.stats.roofline import over_implementation


def peer_lines(cases: Sequence[CaseResult]) -> Lines:
    """Say of each library how fast the arms are beside it, and why it was not measured."""
    sentences: list[str] = []
    for library in IMPLEMENTATIONS:
        asked = [case for case in cases if peers_of(case, library)]
        compared = [case for case in asked if _arms(case, library)]
        if len(compared) <= SPELT_OUT:
            sentences += [f"{case.case}: {beside(case, library)}" for case in compared]
        else:
            sentences.append(_all_together(compared, library))
        sentences += _failures(asked, library)
    return Lines.of(sentences)


def peers_of(case: CaseResult, library: Implementation) -> list[Peer]:
    """A library beside each run of a case that it was measured with."""
    return [peer for run in case.runs if (peer := peer_of(run, library)) is not None]


def peer_latency_s(case: CaseResult, library: Implementation) -> float | None:
    """Seconds of a call in a library, median over the repeats; None if it was not measured."""
    found = [peer.final.latency_s for peer in peers_of(case, library)]
    known = [latency_s for latency_s in found if latency_s is not None]
    return statistics.median(known) if known else None


def beside(case: CaseResult, library: Implementation) -> str:
    """How many times as fast as a library the arms of a case are, as a clause."""
    arms = ", ".join(f"{arm} {ratio_text(ratio)}" for arm, ratio in _arms(case, library).items())
    return f"{arms} times as fast as {named(peers_of(case, library)[-1])}"


def named(peer: Peer | ReferenceKernel) -> str:
    """A library with its version."""
    return f"{peer.implementation} {peer.version}".rstrip()


def _arms(case: CaseResult, library: Implementation) -> dict[str, float]:
    ratios = {arm: over_implementation(case, arm, library) for arm in case.strategies}
    return {arm: ratio for arm, ratio in ratios.items() if ratio is not None}


def _all_together(cases: Sequence[CaseResult], library: Implementation) -> str:
    by_arm: dict[str, list[float]] = {}
    for case in cases:
        for arm, ratio in _arms(case, library).items():
            by_arm.setdefault(arm, []).append(ratio)
    means = ", ".join(
        f"{arm} {ratio_text(statistics.geometric_mean(ratios))} "
        f"({ratio_text(min(ratios))} to {ratio_text(max(ratios))})"
        for arm, ratios in by_arm.items()
    )
    return f"{counted(len(cases), 'case')}: {means} times as fast as {library}, geometric means"


def _failures(cases: Sequence[CaseResult], library: Implementation) -> Iterator[str]:
    """Why a library was not measured, a sentence for each reason and number of repeats."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for case in cases:
        # The arms of a repeat share what was measured beside them.
        peers = {run.seed: peer for run in case.runs if (peer := peer_of(run, library)) is not None}
        failed = [peer.final for peer in peers.values() if peer.final.status != "ok"]
        for final in failed[:1]:
            some = f"{len(failed)} of {len(peers)} repeats of " if len(failed) < len(peers) else ""
            reasons.setdefault((some, final.error or final.status), []).append(case.case)
    for (some, why), names in reasons.items():
        yield f"{library} was not measured in {some}{', '.join(names)}: {why}"
