"""What runs come to: arms in figures, comparisons, gates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["holds", "broken", "undecided"]
Reason = Literal[
    "within",
    "beyond",
    "nothing-to-compare",
    "other-machine",
    "straddles",
    "lost-cases",
    "within-noise",
    "chance",
]
Prospect = Literal["no-interval", "unknown", "too-close", "too-many", "settles"]
Bound = Literal["value", "at-least", "at-most", "undefined"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio with its interval, or a bound where misses leave no number.

    Attributes:
        value: The point estimate, or the bound.
        low: Lower end of the interval.
        high: Upper end of the interval; infinity if the data leaves it unbounded.
        bound: `value` for an estimate; `at-least` / `at-most` if so many runs of one side missed
            that `value` is only a bound; `undefined` if there was nothing to compare.
    """

    value: float
    low: float
    high: float
    bound: Bound = "value"

    @property
    def endless(self) -> bool:
        """Whether too few repeats have left the interval without ends."""
        return self.low == 0.0 and math.isinf(self.high)


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm of a comparison over all its seeds.

    Attributes:
        strategy: The strategy's name.
        runs: Number of runs.
        reached: How many of them reached the fixed target.
        trials: Trials measured, all runs together.
        failed_trials: Of these, how many failed, whatever the reason.
        search_s: Mean search time of a run in seconds.
        propose_s: Of that, choosing candidates.
        build_s: Of that, compiling.
        run_s: Of that, measuring.
        learn_s: Of that, updating models and policies.
        time_to_target_s: Expected search time until the fixed target is reached (ERT);
            infinity if no run reached it.
        trials_to_target: The same in trials.
        throughput_gflops: Geometric mean over the seeds of the winners' re-measured
            throughput; 0 if there is none.
        optimism: Latency of the re-measured winner over what the search had seen of it, as
            geometric mean over the seeds; None if there is none.
    """

    strategy: str
    runs: int
    reached: int
    trials: int
    failed_trials: int
    search_s: float
    propose_s: float
    build_s: float
    run_s: float
    learn_s: float
    time_to_target_s: float
    trials_to_target: float
    throughput_gflops: float
    optimism: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A challenger against the reference arm on one case.

    Attributes:
        case: The case's id.
        target_gflops: The target that expected times are counted to: the goal's last target.
        reference: The arm compared against.
        challenger: The arm under test.
        search_ratio: S, search time of the challenger over that of the reference, by the goal.
        search_ratio_early: S_early, over the way before that, to a first good kernel.
        search_ratio_paper: S_paper, where each reference run's own best is the target.
        search_ratio_trials: S_trials, S counted in trials.
        running_time_ratio: Expected time to the target (ERT), challenger over reference.
        throughput_ratio: Final throughput, challenger over reference.
        ahead_to: The share of the reference's gain up to which the challenger is sooner; None if
            it is not at its beginning.
    """

    case: str
    target_gflops: float
    reference: ArmSummary
    challenger: ArmSummary
    search_ratio: Estimate
    search_ratio_early: Estimate
    search_ratio_paper: Estimate
    search_ratio_trials: Estimate
    running_time_ratio: Estimate
    throughput_ratio: Estimate
    ahead_to: float | None


@dataclass(frozen=True, slots=True)
class Advice:
    """The effect that an undecided gate's repeats could show, and how many would settle it.

    Attributes:
        prospect: The use of more repeats. `no-interval`: there are too few for an interval of
            the confidence that is asked for. `unknown`: they narrow the interval, by how much
            cannot be told. `too-close`: no number settles a figure between limit and noise
            threshold. `too-many`: it would take more than anybody runs. `settles`:
            `repeats_needed` do.
        detectable: The true figure that these repeats show to hold with a chance of 80%; None
            if too little is known.
        repeats_needed: Repeats that settle the gate with a chance of 80%, by all that is known
            so far, or for `no-interval` the fewest that have one; else None.
    """

    prospect: Prospect
    detectable: float | None = None
    repeats_needed: int | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """One limit and whether a figure keeps it.

    Attributes:
        metric: The figure, e.g. `search_ratio` or `throughput_ratio`.
        limit: The worst value that is good enough: the largest search ratio, the smallest
            throughput ratio.
        outcome: `holds`, `broken` or `undecided`.
        reason: Why. It holds `within` the limit. It is broken `beyond` limit, noise and chance,
            or because there was `nothing-to-compare`, or nothing but figures of an
            `other-machine`. It is undecided if its interval `straddles` the limit or is beyond
            it `within-noise`, if `chance` may have done it, or if it is within the limit for a
            suite with `lost-cases`.
        estimate: The figure with its interval.
        repeats: Seeds that it stands on.
        noise: Share by which the figure may miss its limit without being called broken.
        family: What the session's rate of false alarms was divided by for this gate: the number
            of gates, or twice that of gates like it if there are those of cases and of suites.
        p_value: Probability of a figure this bad by chance if the true one were exactly at the
            limit; None where the interval decides already.
        advice: The use of more repeats; None unless undecided.
        lost: Of a suite, the cases that could not be compared.
        open: Whether it is undecided, and repeats that may still be run could well decide it.
    """

    metric: str
    limit: float
    outcome: Outcome
    reason: Reason
    estimate: Estimate
    repeats: int
    noise: float
    family: int = 1
    p_value: float | None = None
    advice: Advice | None = None
    lost: tuple[str, ...] = ()
    open: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A comparison with its gates; `outcome` is the worst of them, None without gates."""

    comparison: Comparison
    gates: tuple[Gate, ...] = ()

    @property
    def outcome(self) -> Outcome | None:
        """`broken` if any gate is, else `undecided` if any is, else `holds`."""
        return worst(self.gates)


@dataclass(frozen=True, slots=True)
class SuiteFigure:
    """One ratio over the cases of a suite.

    Attributes:
        metric: The ratio: a field of `Comparison`.
        estimate: The ratio common to all cases that their runs fit best, with the interval of a
            test stratified by case; for ratios without such a test the geometric mean, with an
            interval that says nothing.
        lost: Cases that could not be compared by it.
    """

    metric: str
    estimate: Estimate
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteVerdict:
    """A challenger against its reference over several cases.

    Attributes:
        reference: The arm compared against.
        challenger: The arm under test.
        group: The operators that the cases have in common, e.g. `conv2d`; empty for all cases.
        cases: Ids of the cases, those that could not be compared among them.
        figures: The ratios.
        gates: How they stand to the suite's limits.
    """

    reference: str
    challenger: str
    group: str
    cases: tuple[str, ...]
    figures: tuple[SuiteFigure, ...]
    gates: tuple[Gate, ...] = ()

    @property
    def outcome(self) -> Outcome | None:
        """`broken` if any gate is, else `undecided` if any is, else `holds`."""
        return worst(self.gates)

    def figure(self, metric: str) -> SuiteFigure:
        """One of the ratios."""
        return next(figure for figure in self.figures if figure.metric == metric)


def worst(gates: Iterable[Gate]) -> Outcome | None:
    """`broken` if any gate is, else `undecided` if any is, else `holds`; None without gates."""
    outcomes = {gate.outcome for gate in gates}
    for outcome in ("broken", "undecided", "holds"):
        if outcome in outcomes:
            return outcome
    return None
