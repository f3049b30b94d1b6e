"""Reports on results, built once as data, and the renderers that write them."""

from pytest_ansorbench.report.build import (
    changes_report,
    failure_report,
    full_report,
    result_report,
    tasks_report,
)
from pytest_ansorbench.report.changes import comparison_report
from pytest_ansorbench.report.columns import ColumnError, parse_columns
from pytest_ansorbench.report.curves import curves, latency_curve
from pytest_ansorbench.report.failures import failures_sentence
from pytest_ansorbench.report.gates import change_sentence, gate_sentence, suite_sentence
from pytest_ansorbench.report.progress import LiveLine, LiveTable, RepeatLog, TrialLog
from pytest_ansorbench.report.provenance import provenance
from pytest_ansorbench.report.rebuilt_tables import (
    kernel_gate_sentence,
    kernels_report,
    suite_gate_sentence,
)
from pytest_ansorbench.report.render.comment import fitted
from pytest_ansorbench.report.render.formats import RENDERERS
from pytest_ansorbench.report.render.outputs import Output, write_report
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.sections import Report, Section
from pytest_ansorbench.report.table import (
    Grouping,
    Layout,
    WantedUnit,
    parse_grouping,
    parse_sort,
    parse_time_unit,
)
from pytest_ansorbench.report.tuning import before_tuning, tuned_lines, tuning_report, was_faster
from pytest_ansorbench.report.watch_tables import overview_report, workers_report

__all__ = [
    "RENDERERS",
    "ColumnError",
    "Grouping",
    "Layout",
    "LiveLine",
    "LiveTable",
    "Output",
    "RepeatLog",
    "Report",
    "Section",
    "Terminal",
    "TrialLog",
    "WantedUnit",
    "before_tuning",
    "change_sentence",
    "changes_report",
    "comparison_report",
    "curves",
    "failure_report",
    "failures_sentence",
    "fitted",
    "full_report",
    "gate_sentence",
    "kernel_gate_sentence",
    "kernels_report",
    "latency_curve",
    "overview_report",
    "parse_columns",
    "parse_grouping",
    "parse_sort",
    "parse_time_unit",
    "provenance",
    "result_report",
    "suite_gate_sentence",
    "suite_sentence",
    "tasks_report",
    "tuned_lines",
    "tuning_report",
    "was_faster",
    "workers_report",
    "write_report",
]
