"""Results as text: the table, the words under it, and the details of a case."""

from pytest_ansorbench.report.changes import describe_changes, render_changes
from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS, ColumnError, parse_columns
from pytest_ansorbench.report.conditions import machine_warnings
from pytest_ansorbench.report.controls import control_sentences
from pytest_ansorbench.report.details import describe_case
from pytest_ansorbench.report.explain import legend
from pytest_ansorbench.report.gate_sentences import change_sentence, gate_sentence
from pytest_ansorbench.report.mutations import RuleTotals, describe_mutations, rule_totals
from pytest_ansorbench.report.progress import LiveLine
from pytest_ansorbench.report.sorting import DEFAULT_SORT, SORT_KEYS, parse_sort, sort_cases
from pytest_ansorbench.report.table import render_table
from pytest_ansorbench.report.tasks import render_tasks

__all__ = [
    "COLUMNS",
    "DEFAULT_COLUMNS",
    "DEFAULT_SORT",
    "SORT_KEYS",
    "ColumnError",
    "LiveLine",
    "RuleTotals",
    "change_sentence",
    "control_sentences",
    "describe_case",
    "describe_changes",
    "describe_mutations",
    "gate_sentence",
    "legend",
    "machine_warnings",
    "parse_columns",
    "parse_sort",
    "render_changes",
    "render_table",
    "render_tasks",
    "rule_totals",
    "sort_cases",
]
