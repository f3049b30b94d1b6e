"""The sentence on a gate: the figure, its limit, the outcome, and the use of more repeats."""

from __future__ import annotations

from typing import Final

from pytest_ansorbench.records import Advice, Estimate, Gate
from pytest_ansorbench.report.wording import DIGITS, percent, ratio_text, repeats_text, statement
from pytest_ansorbench.stats.changes import Change
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.power import FEWEST_REPEATS, MOST_REPEATS

_MOST_DIGITS: Final = 7


def gate_sentence(gate: Gate) -> str:
    """A gate on a figure that has a limit."""
    return _sentence(gate, FIGURES[gate.metric].name)


def change_sentence(change: Change, any_machine: str) -> str:
    """The gate on a figure that was compared with an earlier result; empty without a gate.

    Args:
        change: The figure, then and now.
        any_machine: The option that compares figures of other machines all the same, as the
            reader would type it.
    """
    if change.gate is None:
        return ""
    if change.gate.reason == "other-machine":
        ratios = " or ".join(key for key, figure in FIGURES.items() if figure.limit)
        return (
            f"{change.metric}: nothing could be compared, for the earlier result is from another "
            f"machine ({change.other_machine}); gate a ratio such as {ratios}, or give "
            f"{any_machine}: {change.gate.outcome}"
        )
    return _sentence(change.gate, f"{change.metric} now over before")


def limit_text(limit: float) -> str:
    """The limit as it was given: never rounded to something else."""
    return max(f"{limit:.{DIGITS}f}", repr(float(limit)), key=len)


def _sentence(gate: Gate, name: str) -> str:
    limit = limit_text(gate.limit)
    if gate.reason == "nothing-to-compare":
        return f"{name}: nothing could be compared with the limit {limit}: {gate.outcome}"
    clause = statement(name, gate.estimate, _telling_digits(gate.estimate, gate.limit))
    verb = "exceeds" if FIGURES[gate.metric].sense == "smaller" else "falls short of"
    if gate.reason == "within":
        text = f"{clause} is within the limit {limit}"
    elif gate.reason == "straddles":
        text = f"{clause}: its interval straddles the limit {limit}"
    else:
        text = f"{clause} {verb} the limit {limit}"
    if gate.reason == "within-noise":
        text += f" by less than {percent(gate.noise)}"
    if gate.reason == "chance" and gate.p_value is not None:
        text += f", but chance would do that in {percent(gate.p_value)} of sessions"
    advice = "" if gate.advice is None else f" ({_advice(gate, gate.advice)})"
    return f"{text}: {gate.outcome}{advice}"


def _advice(gate: Gate, advice: Advice) -> str:
    counted, prospect = repeats_text(gate.repeats), _prospect(gate, advice)
    if advice.detectable is None:
        return f"{counted}; {prospect}"
    side = "below" if FIGURES[gate.metric].sense == "smaller" else "above"
    shown = ratio_text(advice.detectable)
    return f"with {counted} a figure has to be {side} about {shown} to hold; {prospect}"


def _prospect(gate: Gate, advice: Advice) -> str:
    """The use of more repeats."""
    if advice.prospect == "no-interval":
        return f"below {FEWEST_REPEATS} there is no interval to speak of"
    if advice.prospect == "unknown":
        return "more repeats narrow the interval"
    if advice.prospect == "too-close":
        return "this close to the limit no number of repeats would settle it"
    seen = ratio_text(gate.estimate.value)
    if advice.prospect == "too-many":
        return f"at {seen} not even {MOST_REPEATS} would settle it"
    return f"at {seen} about {advice.repeats_needed} would settle it"


def _telling_digits(estimate: Estimate, limit: float) -> int:
    """As few decimals as leave the ends of the interval on the side of the limit they are on.

    Otherwise a sentence could call `[0.51, 0.90]` undecided at a limit of 0.90.
    """
    ends = (estimate.low, estimate.high)
    for digits in range(DIGITS, _MOST_DIGITS):
        shown = [float(ratio_text(end, digits)) for end in ends]
        if all(
            (a < limit, a > limit) == (b < limit, b > limit)
            for a, b in zip(shown, ends, strict=True)
        ):
            return digits
    return _MOST_DIGITS
