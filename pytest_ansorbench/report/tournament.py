"""A tournament: all arms of recorded results, pair by pair and side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.cells import (
    BareRatio,
    Cell,
    Count,
    Gap,
    Number,
    Part,
    Ratio,
    Text,
    known,
    percentage,
    throughput,
)
from pytest_ansorbench.report.conditions import PROGRESS
from pytest_ansorbench.report.curves import SPENDINGS, stepped
from pytest_ansorbench.report.sections import (
    Axis,
    Chart,
    Column,
    Group,
    Lines,
    Report,
    Section,
    Table,
)
from pytest_ansorbench.report.wording import counted, percent_text
from pytest_ansorbench.stats.contests import Contest
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.distribution import SHARES
from pytest_ansorbench.stats.duels import Duel
from pytest_ansorbench.stats.estimates import inverse
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.standings import (
    longest,
    mean_ranks,
    performance_profile,
    ratios_to_fastest,
    run_time_distribution,
    sooner,
    throughputs,
)

_INSTANTS: Final = 401  # points of a curve over spending

_STANDINGS: Final = (
    Column("place", "no."),
    Column("strategy", "strategy", kind="words"),
    Column("rank", "mean rank"),
    Column("sooner", "sooner"),
    Column("reached", "targets reached", spare=1),
    Column("to_fastest", "of the fastest"),
    Column("cases", "cases", spare=2),
    Column("runs", "runs", spare=3),
    Column("trials", "trials", spare=3),
)
_RATIOS: Final = {
    "search_ratio": "S",
    "search_ratio_trials": "S_trials",
    "throughput_ratio": "throughput ratio",
}
_PAIRS: Final = (
    Column("challenger", "challenger", kind="words"),
    Column("reference", "reference", kind="words"),
    Column("cases", "side by side", spare=1),
    *(Column(key, heading) for key, heading in _RATIOS.items()),
    *(Column(f"to_{share:g}", f"S to {percent_text(share)}", spare=2) for share in SHARES),
)
_CASES: Final = (
    Column("case", "case", kind="words"),
    Column("apart", "kept apart by", kind="words", spare=1),
    Column("soonest", "soonest", kind="words"),
    Column("fastest", "fastest", kind="words"),
    Column("throughput", "GFLOP/s", "GFLOP/s"),
    Column("missing", "missing", kind="words"),
)
_REACHED: Final = Axis("share of targets reached")
_BEHIND: Final = Axis("log2 of the fastest throughput over its own")
_SOLVED: Final = Axis("share of cases")


def tournament_report(
    contests: Sequence[Contest],
    criteria: Criteria,
    reference: str | None = None,
    *,
    most_pairs: int | None = None,
) -> Report:
    """Report on all arms of some contests.

    Standings, pairs, run-time distributions, performance profiles of the final throughput, and what
    could not meet. Of more pairs than `most_pairs` those of the reference are shown, or of the
    first arm.
    """
    found = [(one, gain) for one in contests if (gain := one.gain(reference, criteria.tolerance))]
    arms = {arm for contest in contests for arm in contest.arms}
    whole = [(contest, gain) for contest, gain in found if len(contest.arms) == len(arms)]
    complete, gains = [one for one, _ in whole], [gain for _, gain in whole]
    ahead = {contest: sooner(contest, gain, criteria.goal) for contest, gain in found}
    scores = [ahead[contest] for contest in complete]
    ranks = mean_ranks(scores, criteria.confidence)
    shares = {arm: float(np.mean([of[arm] for of in scores])) for arm in arms} if scores else {}
    in_order = sorted(
        arms, key=lambda arm: (ranks[arm].value if ranks else 0.0, -shares.get(arm, 0.0), arm)
    )
    pairs = [
        Duel.of([contest for contest, _ in found], *sides, criteria, reference)
        for sides in _sides(in_order, reference)
    ]
    distributions = _distributions(complete, gains, in_order)
    ratios = ratios_to_fastest(complete, in_order)
    standings = _standings(contests, in_order, ranks, shares, distributions, ratios)
    shown = _narrowed(pairs, reference or next(iter(in_order), ""), most_pairs)
    return Report.of(
        Section("tournament", (_summary(contests, in_order, reference), standings)),
        Section(
            "pairs", (_matrix(in_order, pairs), _pairs(shown, criteria), _left_out(pairs, shown))
        ),
        Section("distributions", distributions),
        Section("profile", (_profile(ratios),)),
        Section("cases", (_cases(contests, in_order, ahead),)),
        Section("notes", (Lines((*_notes(contests, reference, len(found), complete, criteria),)),)),
    )


def _summary(contests: Sequence[Contest], arms: Sequence[str], reference: str | None) -> Lines:
    runs = sum(len(entries) for contest in contests for entries in contest.arms.values())
    whose = (
        f"{reference}'s gain"
        if reference
        else "the gain from the median first kernel to the best of all"
    )
    counts = (counted(len(contests), "case"), counted(len(arms), "arm"), counted(runs, "run"))
    return Lines((f"{', '.join(counts)}; targets are shares of {whose}",))


def _standings(
    contests: Sequence[Contest],
    arms: Sequence[str],
    ranks: Mapping[str, Estimate],
    shares: Mapping[str, float],
    distributions: Sequence[Chart],
    ratios: Mapping[str, Sequence[float]],
) -> Table:
    ends = {one.label: one.y[-1] for chart in distributions for one in chart.series}
    rows: list[tuple[Cell, ...]] = []
    for place, arm in enumerate(arms, 1):
        entries = [entry for contest in contests for entry in contest.arms.get(arm, ())]
        rows.append(
            (
                Count(place),
                Text(arm),
                _rank(ranks[arm]) if ranks else Gap.UNKNOWN,
                known(shares.get(arm), percentage),
                known(ends.get(arm), percentage),
                _of_fastest(ratios.get(arm, ())),
                Part(sum(arm in contest.arms for contest in contests), len(contests)),
                Count(len(entries)),
                Count(sum(len(entry.run.run.trials) for entry in entries)),
            )
        )
    nothing = Gap.IRRELEVANT
    baselines = sorted({name for contest in contests for name in contest.baselines})
    timed: list[tuple[Cell, ...]] = [
        (
            nothing,
            Text(name),
            *(nothing,) * 3,
            _of_fastest(ratios.get(name, ())),
            Part(sum(name in contest.baselines for contest in contests), len(contests)),
            *(nothing,) * 2,
        )
        for name in baselines
    ]
    return Table(_STANDINGS, (Group(tuple(rows)), Group(tuple(timed))))


def _rank(rank: Estimate) -> Cell:
    if math.isinf(rank.high):
        return Number.of(rank.value, ".2f")
    return Ratio(rank)


def _of_fastest(ratios: Sequence[float]) -> Cell:
    """Geometric mean of the throughput over the fastest one's; none where a kernel is missing."""
    if not ratios or not all(map(math.isfinite, ratios)):
        return Gap.UNKNOWN
    return percentage(math.exp(-math.fsum(map(math.log, ratios)) / len(ratios)))


def _sides(arms: Sequence[str], reference: str | None) -> Iterator[tuple[str, str]]:
    """Reference and challenger of all pairs: the better one challenges, the reference never."""
    for one, other in combinations(arms, 2):
        yield (one, other) if one == reference else (other, one)


def _matrix(arms: Sequence[str], pairs: Sequence[Duel]) -> Table:
    """S of each row's arm over each column's."""
    found: dict[tuple[str, str], Estimate] = {}
    for pair in pairs:
        ratio = pair.ratio("search_ratio")
        found[pair.challenger, pair.reference] = ratio
        found[pair.reference, pair.challenger] = inverse(ratio)
    columns = (
        Column("place", "no."),
        Column("strategy", "S over", kind="words"),
        *(Column(f"over_{place}", f"{place}") for place, _ in enumerate(arms, 1)),
    )
    rows = (
        (
            Count(place),
            Text(arm),
            *(Gap.IRRELEVANT if arm == other else _bare(found[arm, other]) for other in arms),
        )
        for place, arm in enumerate(arms, 1)
    )
    return Table.of(columns, rows if pairs else ())


def _pairs(pairs: Sequence[Duel], criteria: Criteria) -> Table:
    rows = (
        (
            Text(pair.challenger),
            Text(pair.reference),
            Part(pair.together, len(pair.pairings)),
            *(
                _bare(ratio) if math.isinf(ratio.high) and not ratio.low else Ratio(ratio)
                for key in _RATIOS
                for ratio in [pair.estimate(key, criteria.confidence)]
            ),
            *(_bare(pair.ratio("search_ratio", Goal(share, share))) for share in SHARES),
        )
        for pair in pairs
    )
    return Table.of(_PAIRS, rows)


def _bare(ratio: Estimate) -> Cell:
    """A ratio without its interval, or one that has no ends."""
    if ratio.bound == "undefined":
        return Gap.UNKNOWN
    return BareRatio(ratio)


def _narrowed(pairs: Sequence[Duel], arm: str, most: int | None) -> Sequence[Duel]:
    if most is None or len(pairs) <= most:
        return pairs
    return [pair for pair in pairs if arm in (pair.reference, pair.challenger)]


def _left_out(pairs: Sequence[Duel], shown: Sequence[Duel]) -> Lines:
    left = len(pairs) - len(shown)
    return Lines((f"{counted(left, 'more pair')} in other formats",) if left else ())


def _distributions(
    contests: Sequence[Contest], gains: Sequence[tuple[float, float]], arms: Sequence[str]
) -> tuple[Chart, ...]:
    if not contests:
        return ()
    charts = []
    for spending, axis in SPENDINGS.items():
        at = np.linspace(0.0, longest(contests, spending), _INSTANTS)
        series = tuple(
            stepped(arm, at, run_time_distribution(contests, gains, arm, spending, at)[None])
            for arm in arms
        )
        charts.append(Chart(axis, _REACHED, series))
    return tuple(charts)


def _profile(ratios: Mapping[str, Sequence[float]]) -> Chart:
    at = np.unique([1.0, *(one for of in ratios.values() for one in of if math.isfinite(one))])
    series = (
        stepped(name, np.log2(at), performance_profile(of, at)[None]) for name, of in ratios.items()
    )
    return Chart(_BEHIND, _SOLVED, tuple(series))


def _notes(
    contests: Sequence[Contest],
    reference: str | None,
    with_gain: int,  # how many of them
    complete: Sequence[Contest],
    criteria: Criteria,
) -> Iterator[str]:
    yield (
        f"S: how many times longer the challenger takes, by the goal {criteria.goal}; below 1 it "
        f"is sooner; [low, high]: {percent_text(criteria.confidence)} interval of each pair by "
        "itself; side by side: in how many of its cases both were measured in one session"
    )
    yield (
        "sooner: how often a run is before another arm's at a target; a miss is later than any "
        "time, a tie counts half; mean rank: by that, over the cases; interval by bootstrap"
    )
    yield (
        "targets reached: of fifty, up to all of the gain; of the fastest: final throughput over "
        "that of the fastest, geometric mean"
    )
    if criteria.progress == "believed":
        yield f"progress: {PROGRESS['believed']}"
    if with_gain < len(contests):
        yield (
            f"pairs: of the {with_gain} of {counted(len(contests), 'case')} in which "
            f"{reference or 'any arm'} has a kernel"
        )
    if len(complete) < len(contests):
        yield (
            f"ranks, sooner, targets reached and throughput: of the {len(complete)} of "
            f"{counted(len(contests), 'case')} in which all arms have a run"
            + (f", and {reference} a kernel" if reference and with_gain < len(contests) else "")
        )


def _cases(
    contests: Sequence[Contest],
    arms: Sequence[str],
    scores: Mapping[Contest, Mapping[str, float]],
) -> Table:
    """The contests: what keeps those of one case apart, who is first, and who is missing."""
    rows = []
    for contest in contests:
        mine = contest.conditions
        others = [one.conditions for one in contests if one.conditions.case == mine.case]
        words = [f"landscape {mine.landscape}"] if mine.landscape else []
        words += mine.differences(others)
        ahead = scores.get(contest, {})
        speeds = throughputs(contest)
        fastest = _highest(speeds)
        rows.append(
            (
                Text(mine.case),
                Text(", ".join(dict.fromkeys(words))),
                Text(_highest(ahead) if len(ahead) > 1 else ""),
                Text(fastest if speeds[fastest] else ""),
                throughput(speeds[fastest]),
                Text(", ".join(arm for arm in arms if arm not in contest.arms)),
            )
        )
    return Table.of(_CASES, rows)


def _highest(scores: Mapping[str, float]) -> str:
    """Whose score is highest; of equal ones the first by name."""
    return min(scores, key=lambda name: (-scores[name], name))
