"""Reports on results: sections of typed cells, built once, and the renderers that write them."""

from pytest_ansorbench.report.build import (
    changes_report,
    failure_report,
    result_report,
    tasks_report,
)
from pytest_ansorbench.report.changes import changes_notes, changes_table
from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS, ColumnError, parse_columns
from pytest_ansorbench.report.conditions import caches_lines, machine_warnings
from pytest_ansorbench.report.controls import control_lines
from pytest_ansorbench.report.curves import curves
from pytest_ansorbench.report.details import case_details
from pytest_ansorbench.report.gates import change_sentence, gate_sentence
from pytest_ansorbench.report.kernels import (
    kernel_gate_sentence,
    kernels_report,
    suite_gate_sentence,
)
from pytest_ansorbench.report.legend import legend
from pytest_ansorbench.report.mutations import RuleTotals, rule_totals
from pytest_ansorbench.report.noise import (
    noise_changes,
    noise_details,
    noise_lines,
    noise_warnings,
)
from pytest_ansorbench.report.progress import LiveLine
from pytest_ansorbench.report.render import RENDERERS, Markdown, Renderer, Terminal
from pytest_ansorbench.report.sections import Report, Section
from pytest_ansorbench.report.sorting import DEFAULT_SORT, SORT_KEYS, parse_sort, sort_cases
from pytest_ansorbench.report.suites import suite_sentence
from pytest_ansorbench.report.table import case_table

__all__ = [
    "COLUMNS",
    "DEFAULT_COLUMNS",
    "DEFAULT_SORT",
    "RENDERERS",
    "SORT_KEYS",
    "ColumnError",
    "LiveLine",
    "Markdown",
    "Renderer",
    "Report",
    "RuleTotals",
    "Section",
    "Terminal",
    "caches_lines",
    "case_details",
    "case_table",
    "change_sentence",
    "changes_notes",
    "changes_report",
    "changes_table",
    "control_lines",
    "curves",
    "failure_report",
    "gate_sentence",
    "kernel_gate_sentence",
    "kernels_report",
    "legend",
    "machine_warnings",
    "noise_changes",
    "noise_details",
    "noise_lines",
    "noise_warnings",
    "parse_columns",
    "parse_sort",
    "result_report",
    "rule_totals",
    "sort_cases",
    "suite_gate_sentence",
    "suite_sentence",
    "tasks_report",
]
