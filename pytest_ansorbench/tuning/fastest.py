"""Which of all calls into a folder has found the fastest kernels: those stay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_ansorbench.records import CaseResult, Peer
from pytest_ansorbench.report.wording import plain_text
from pytest_ansorbench.storage import Past
from pytest_ansorbench.storage.entries import CaseEntry
from pytest_ansorbench.tuning.journals import outcomes
from pytest_ansorbench.winners import (
    Winner,
    fastest_by,
    tuned_in,
    winners_of_case,
)


def fastest_result(case: CaseResult, ended: Iterable[CaseResult]) -> tuple[CaseResult, str]:
    """The result of that search of a case whose winner is the fastest.

    Args:
        case: What this call came to.
        ended: What searches came to that were measured as this one, of any case.

    Returns:
        The result, with the baselines of this call; and a sentence, if it is an earlier one, with
        the libraries of this call, which took turns with another kernel. The same schedules are
        no other result, which an earlier call may have timed without libraries.
    """
    [own] = case.runs
    alike = (
        one
        for one in ended
        if _measured(one) == _measured(case) and one.runs[0].schedules != own.schedules
    )
    fastest = min([case, *alike], key=_latency_s)
    if fastest is case:
        return case, ""
    now_s, [run] = _latency_s(case), fastest.runs
    now = f"{plain_text(1e3 * now_s)} ms" if now_s < math.inf else "no kernel that works"
    kept = (
        f"{case.case}: what {run.strategy} with seed {run.seed} has found in an earlier call "
        f"stays, {plain_text(1e3 * _latency_s(fastest))} ms; this call has found {now}"
        f"{''.join(map(_took, own.peers))}"
    )
    return replace(fastest, yardsticks=case.yardsticks), kept


def fastest_schedules(past: Past, entries: Sequence[CaseEntry]) -> Mapping[str, Winner]:
    """By program, its fastest schedule of all calls.

    Those that won a search which was measured as a case of this call is count before all that only
    seemed faster in one; those that did not work when they were measured again do not.
    """
    ended = [*outcomes(past, entries[0])]
    caches = {entry.conditions["caches"] for entry in entries}
    tried = tuned_in(past, ended)
    won = (one for case in ended for one in winners_of_case(case) if one.caches in caches)
    return {
        program: winner
        for winners in (tried, won)
        for program, winner in fastest_by(winners, lambda one: one.program).items()
    }


def _took(peer: Peer) -> str:
    latency_s = peer.final.latency_s
    if latency_s is None:
        return f"; {peer.implementation} not measured: {peer.final.error or peer.final.status}"
    return f"; {peer.implementation} takes {plain_text(1e3 * latency_s)} ms"


def _measured(case: CaseResult) -> tuple[object, ...]:
    """What two results have in common that can be compared, the machine too."""
    return case.case, case.version, case.machines


def _latency_s(case: CaseResult) -> float:
    """Of the case with its winners, measured again; infinite if that could not be."""
    [run] = case.runs
    latency_s = run.final.latency_s if run.final is not None else None
    return math.inf if latency_s is None else latency_s
