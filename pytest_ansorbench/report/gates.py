"""The sentence on a gate: the figure, its limit, the outcome, and the use of more repeats."""

from __future__ import annotations

from pytest_ansorbench.records import Advice, Gate
from pytest_ansorbench.report.cells import (
    Count,
    Counted,
    GateMark,
    Limit,
    Percentage,
    PlainRatio,
    Significant,
    Statement,
    Text,
)
from pytest_ansorbench.report.sections import Sentence, listed
from pytest_ansorbench.stats.changes import Change
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.power import MOST_REPEATS


def gate_sentence(gate: Gate) -> Sentence:
    """A gate on a figure that has a limit."""
    return _sentence(gate, (FIGURES[gate.metric].name,))


def change_sentence(change: Change, any_machine: str) -> Sentence:
    """The gate on a figure that was compared with an earlier result; empty without a gate.

    Args:
        change: The figure, then and now.
        any_machine: The option that compares figures of other machines all the same, as the
            reader would type it.
    """
    if change.gate is None:
        return ()
    if change.gate.reason == "other-machine":
        ratios = " or ".join(key for key, figure in FIGURES.items() if figure.limit)
        return (
            change.metric,
            ": nothing could be compared, for the earlier result is from another machine (",
            Text(change.other_machine),
            "); gate a ratio such as ",
            ratios,
            ", or give ",
            any_machine,
            ": ",
            GateMark(change.gate.outcome),
        )
    return _sentence(change.gate, (change.metric, " now over before"))


def _sentence(gate: Gate, name: Sentence) -> Sentence:
    limit = Limit(gate.limit)
    end: Sentence = (": ", GateMark(gate.outcome))
    if gate.reason == "nothing-to-compare":
        return (*name, ": nothing could be compared with the limit ", limit, *end)
    clause: Sentence = (*name, " ", Statement(gate.estimate, gate.limit))
    verb = "exceeds" if FIGURES[gate.metric].sense == "smaller" else "falls short of"
    if gate.reason == "early-only":
        return (*clause, " is within the limit ", limit, *_early_only(gate), *end)
    if gate.reason == "lost-cases":
        return (*clause, " is within the limit ", limit, *_lost(gate, ", but "), *end)
    if gate.reason == "within":
        clause = (*clause, " is within the limit ", limit)
    elif gate.reason == "straddles":
        clause = (*clause, ": its interval straddles the limit ", limit)
    else:
        clause = (*clause, " ", verb, " the limit ", limit)
    if gate.reason == "within-noise":
        clause = (*clause, " by less than ", Percentage(gate.noise, Significant(2)))
    if gate.reason == "chance" and gate.p_value is not None:
        chance = Percentage(gate.p_value, Significant(2))
        clause = (*clause, ", but chance would do that in ", chance, " of sessions")
    clause = (*clause, *_lost(gate, "; "))
    if gate.advice is None:
        return (*clause, *end)
    return (*clause, *end, " (", *_advice(gate, gate.advice), ")")


def _lost(gate: Gate, link: str) -> Sentence:
    """The cases that a suite could not compare."""
    if not gate.lost:
        return ()
    names = listed(Text(case) for case in gate.lost)
    return (link, Counted(len(gate.lost), "case"), " could not be compared: ", *names)


def _early_only(gate: Gate) -> Sentence:
    """Why that is not enough."""
    why: Sentence = (" on the way only, for its runs stall",)
    if gate.turn is not None:
        why = (*why, "; ahead up to ", Percentage(gate.turn, Significant(2)), " of the gain")
    if gate.p_value is None:
        return why
    return (*why, " (by chance in ", Percentage(gate.p_value, Significant(2)), " of sessions)")


def _advice(gate: Gate, advice: Advice) -> Sentence:
    repeats, prospect = Counted(gate.repeats, "repeat"), _prospect(gate, advice)
    if advice.detectable is None:
        return (repeats, "; ", *prospect)
    side = "below" if FIGURES[gate.metric].sense == "smaller" else "above"
    return (
        "with ",
        repeats,
        " a figure has to be ",
        side,
        " about ",
        PlainRatio(advice.detectable),
        " to hold; ",
        *prospect,
    )


def _prospect(gate: Gate, advice: Advice) -> Sentence:
    """The use of more repeats."""
    seen = PlainRatio(gate.estimate.value)
    match advice.prospect:
        case "no-interval":
            return ("below ", Count(advice.repeats_needed or 0), " there is no interval")
        case "unknown":
            return ("more repeats narrow the interval",)
        case "too-close":
            return ("this close to the limit no number of repeats would settle it",)
        case "too-many":
            return ("at ", seen, " not even ", Count(MOST_REPEATS), " would settle it")
        case "settles":
            return ("at ", seen, " about ", Count(advice.repeats_needed or 0), " would settle it")
