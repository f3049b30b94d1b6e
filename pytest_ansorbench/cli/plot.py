"""The command `plot`: one figure of a result, for a paper or a slide."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cli.exits import HOLDS, Refusal
from pytest_ansorbench.cli.stored import (
    add_storage,
    check_outputs,
    judging,
    listed,
    narrowed,
    read_stored,
)

if TYPE_CHECKING:
    from pytest_ansorbench.records import CaseResult
    from pytest_ansorbench.report.sections import Bars, Chart, Forest
    from pytest_ansorbench.stats.criteria import Criteria
    from pytest_ansorbench.stats.judging import JudgedResult

_OF_ALL: Final = {
    "search-ratio": "S of every case and of all of them, with intervals",
    "throughput-ratio": "the same for the throughput of the final kernels",
    "ablation": "S over all cases, for each strategy",
    "ablation-throughput": "the same for the throughput of the final kernels",
}
_OF_A_CASE: Final = {
    "curve": "best throughput over the trials",
    "curve-time": "best throughput over the search time",
    "latency-time": "best latency over the search time, beside other libraries",
    "targets": "ratio of the times to the targets along the way",
    "phases": "seconds of a run by phase",
    "schedule-share": "trials by sketch, over the budget; of --strategy",
}
_KINDS: Final = ("svg", "png", "pdf")
_OF_STRATEGY: Final = (*_OF_ALL, "targets", "schedule-share")
"""Figures that can be of one strategy."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A figure of a part of a result."""

    figure: str  # what it is drawn as
    cases: str = ""  # start of the ids of its cases; `operators` or `networks` for all of them
    strategy: str = ""  # the challenger; empty for all strategies

    @property
    def words(self) -> str:
        of = f"{self.figure} of {self.strategy}" if self.strategy else self.figure
        return f"{of}, {self.cases or 'all cases'}"


_OF_PAPER: Final = {
    "fig10": _Part("search-ratio", "operators", "optimized"),
    "fig11": _Part("search-ratio", "networks", "optimized"),
    "fig12": _Part("throughput-ratio", "operators", "optimized"),
    "fig13": _Part("throughput-ratio", "networks", "optimized"),
    "fig14": _Part("curve", "conv2d-n"),
    "fig15": _Part("curve", "resnet50"),
    "fig16": _Part("curve", "resnet18"),
    "fig17": _Part("search-ratio", "", "rules"),
    "fig18": _Part("search-ratio", "", "etc"),
}
"""Those of Han Lin et al., Computer Science 52(3), 2025, section 5."""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    of_paper = {name: f"the paper's, {figure.words}" for name, figure in _OF_PAPER.items()}
    all_figures = _OF_ALL | _OF_A_CASE | of_paper
    figures = "; ".join(f"{name}: {words}" for name, words in all_figures.items())
    plot = commands.add_parser(
        "plot",
        help="one figure of a result as SVG, PNG or PDF",
        description=f"Draws one figure of a result, at the width of a column. {figures}.",
    )
    plot.add_argument("figure", choices=[*all_figures], metavar="FIGURE")
    plot.add_argument("result", metavar="RESULT", help="name, number or file")
    plot.add_argument(
        "--case", metavar="ID", help="case of a figure that is of one, or the only one of ratios"
    )
    plot.add_argument(
        "--strategy",
        metavar="NAME",
        help="strategy of schedule-share, or the only challenger in a figure of ratios",
    )
    plot.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="file to write, e.g. s.svg; its suffix says in which format",
    )
    add_storage(plot)
    plot.set_defaults(run=_plot)


def _plot(given: argparse.Namespace) -> int:
    from pytest_ansorbench.report.render.figures import PRINT, draw, save
    from pytest_ansorbench.stats.judging import judge_result
    from pytest_ansorbench.storage.files import written

    kind = given.output.suffix.removeprefix(".")
    if kind not in _KINDS:
        raise Refusal(f"bad --output {str(given.output)!r}: expected .svg, .png or .pdf at its end")
    if find_spec("matplotlib") is None:
        raise Refusal("plot takes matplotlib: pip install 'pytest-ansorbench[report]'")
    path, result = read_stored(given.storage, given.result)
    check_outputs([given.output], [path])
    with judging((path, result)):
        chart = _chart(given, judge_result(result))
    _check_content(given.figure, chart)
    try:
        with written(given.output) as file:
            save(draw(chart, PRINT), file, PRINT, kind)
    except OSError as error:
        raise Refusal(f"bad --output {str(given.output)!r}: {error}") from None
    print(f"written: {given.output}")
    return HOLDS


def _chart(given: argparse.Namespace, judged: JudgedResult) -> Chart | Forest | Bars:
    """The figure that was asked for."""
    part = _OF_PAPER.get(given.figure, _Part(given.figure))
    if given.case is not None and part.figure.startswith("ablation"):
        raise Refusal(
            f"bad --case {given.case!r}: expected none, as {given.figure} is of all cases"
        )
    if given.strategy is not None and part.figure not in _OF_STRATEGY:
        raise Refusal(
            f"bad --strategy {given.strategy!r}: expected none, as {given.figure} is of all "
            "strategies"
        )
    chosen = narrowed(judged.cases, "--case", given.case, lambda one: one.case)
    cases = tuple(case for case in chosen if _is_of(part.cases, case))
    if not cases:
        raise Refusal(f"bad {given.figure}: expected a result with {part.cases or 'cases'}")
    if part.figure in _OF_ALL:
        suites = judged.suites if len(cases) == len(judged.cases) else ()
        judged = replace(judged, cases=cases, suites=suites)
        return _ratios(part.figure, _against(given.strategy or part.strategy, judged))
    if given.figure == part.figure and given.case is None and len(cases) > 1:
        known = listed(case.case for case in cases)
        raise Refusal(f"bad {given.figure}: expected --case with it, one of: {known}")
    return _of_case(part.figure, cases[0], given.strategy, judged.criteria)


def _is_of(cases: str, case: CaseResult) -> bool:
    if cases in ("operators", "networks"):
        is_network = any(len(run.tasks) > 1 for run in case.runs)
        return is_network == (cases == "networks")
    return case.case.startswith(cases)


def _against(challenger: str, judged: JudgedResult) -> JudgedResult:
    """The same, with the verdicts over one challenger only; empty for all of them."""
    if not challenger:
        return judged
    verdicts = [verdict for case in judged.cases for verdict in case.verdicts]
    names = dict.fromkeys(verdict.comparison.challenger.strategy for verdict in verdicts)
    narrowed([*names], "--strategy", challenger, str)
    cases = (
        replace(
            case,
            verdicts=tuple(
                v for v in case.verdicts if v.comparison.challenger.strategy == challenger
            ),
        )
        for case in judged.cases
    )
    suites = tuple(suite for suite in judged.suites if suite.challenger == challenger)
    return replace(judged, cases=tuple(cases), suites=suites)


def _ratios(figure: str, judged: JudgedResult) -> Forest:
    from pytest_ansorbench.report.pictures import ablation, forests

    plots = (*forests(judged.cases, judged.suites), *ablation(judged.suites))
    return plots[[*_OF_ALL].index(figure)]


def _check_content(figure: str, chart: Chart | Forest | Bars) -> None:
    """Refuse a figure that would be blank."""
    from pytest_ansorbench.report.sections import Chart, Forest

    match chart:
        case Chart():
            is_blank, of = not any(one.x for one in chart.series), "runs with valid trials"
        case Forest():
            is_blank, of = not chart.rows, "two strategies or more"
            of += " and two cases or more" if figure.startswith("ablation") else ""
        case _:
            is_blank, of = not chart.stacks, "runs"
    if is_blank:
        raise Refusal(f"bad {figure}: nothing to draw; expected a result with {of}")


def _of_case(
    figure: str, case: CaseResult, strategy: str | None, criteria: Criteria
) -> Chart | Forest | Bars:
    from pytest_ansorbench.report.curves import curves, latency_curve
    from pytest_ansorbench.report.pictures import phases, sketch_shares, way
    from pytest_ansorbench.report.sections import Bars, Chart
    from pytest_ansorbench.stats.distribution import case_ways

    match figure:
        case "latency-time":
            return latency_curve(case, criteria)
        case "targets":
            ways = case_ways(case, criteria)
            names = narrowed([*ways], "--strategy", strategy, str)
            return way(case, {name: ways[name] for name in names})
        case "phases":
            return phases(case)
        case "schedule-share":
            strategy = strategy or case.strategies[0]
            narrowed(case.strategies, "--strategy", strategy, str)
            alone = [block for block in sketch_shares(case, strategy) if isinstance(block, Bars)]
            if not alone:
                raise Refusal(
                    f"bad {figure}: nothing to draw; {case.case} has no sketches to choose from"
                )
            return alone[0]
    over_trials, over_time = (
        block for block in curves(case, criteria).blocks if isinstance(block, Chart)
    )
    return over_trials if figure == "curve" else over_time
