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
    from collections.abc import Sequence

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


@dataclass(frozen=True, slots=True)
class _OfPaper:
    """A figure of Han Lin et al., Computer Science 52(3), 2025, section 5."""

    figure: str  # what it is drawn as
    cases: str  # start of the ids of its cases; `operators` or `networks` for all of them
    strategy: str = ""  # the challenger; empty for all strategies

    @property
    def words(self) -> str:
        of = f"{self.figure} of {self.strategy}" if self.strategy else self.figure
        return f"{of}, {self.cases or 'all cases'}"


_OF_PAPER: Final = {
    "fig10": _OfPaper("search-ratio", "operators", "optimized"),
    "fig11": _OfPaper("search-ratio", "networks", "optimized"),
    "fig12": _OfPaper("throughput-ratio", "operators", "optimized"),
    "fig13": _OfPaper("throughput-ratio", "networks", "optimized"),
    "fig14": _OfPaper("curve", "conv2d-n"),
    "fig15": _OfPaper("curve", "resnet50"),
    "fig16": _OfPaper("curve", "resnet18"),
    "fig17": _OfPaper("search-ratio", "", "rules"),
    "fig18": _OfPaper("search-ratio", "", "etc"),
}


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
    plot.add_argument("--case", metavar="ID", help="case of a figure that is of one")
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
    of_paper = _OF_PAPER.get(given.figure)
    if of_paper is None:
        if given.figure in _OF_ALL:
            return _ratios(given.figure, _against(given.strategy, judged))
        return _of_case(given.figure, _case(given, judged.cases), given.strategy, judged.criteria)
    cases = tuple(case for case in judged.cases if _is_of(of_paper.cases, case))
    if not cases:
        raise Refusal(f"bad {given.figure}: expected a result with {of_paper.cases}")
    if of_paper.figure == "curve":
        return _of_case("curve", cases[0], None, judged.criteria)
    suites = judged.suites if len(cases) == len(judged.cases) else ()
    part = replace(judged, cases=cases, suites=suites)
    return _ratios(of_paper.figure, _against(given.strategy or of_paper.strategy, part))


def _is_of(cases: str, case: CaseResult) -> bool:
    if cases in ("operators", "networks"):
        is_network = any(len(run.tasks) > 1 for run in case.runs)
        return is_network == (cases == "networks")
    return case.case.startswith(cases)


def _against(challenger: str | None, judged: JudgedResult) -> JudgedResult:
    """The same, with the verdicts over one challenger only; None for all of them."""
    if challenger is None:
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
    from pytest_ansorbench.report import curves, latency_curve
    from pytest_ansorbench.report.pictures import phases, sketch_shares, way
    from pytest_ansorbench.report.sections import Bars, Chart
    from pytest_ansorbench.stats.distribution import case_ways

    match figure:
        case "latency-time":
            return latency_curve(case, criteria)
        case "targets":
            return way(case, case_ways(case, criteria))
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


def _case(given: argparse.Namespace, cases: Sequence[CaseResult]) -> CaseResult:
    if given.case is not None:
        return narrowed(cases, "--case", given.case, lambda one: one.case)[0]
    if len(cases) != 1:
        raise Refusal(
            f"bad {given.figure}: expected --case with it, one of: "
            f"{listed(one.case for one in cases)}"
        )
    return cases[0]
