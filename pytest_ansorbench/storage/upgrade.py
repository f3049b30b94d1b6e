"""Results of older schema versions, brought up to the newest."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from pytest_ansorbench.records import SCHEMA_VERSION, Trial
from pytest_ansorbench.storage.machine import fingerprint


def upgrade(data: dict[str, Any]) -> None:
    """Bring a result, as parsed from JSON, to the newest schema version, in place.

    Version 2 added per trial `build_s`, `run_s` and `peak_memory_mb`, per round `restarts`,
    per run `before` and `after`. Version 3 added per gate `family` and `p_value`, per case
    `version`, `machine` and `control`, keeps machines by fingerprint and trials by column.
    Version 4 has networks: a run's `sketches` became those of its only task, a round has `task`.
    Version 5 calls the arm under test `challenger`, has the machine per run, not per case, and of
    a gate the facts in place of a sentence; re-measurements have slices, leads are measured
    again, winners may be crowned by a last check, a run says how caches were found, and there is
    the machines' `noise`. Version 6 has S over the way: comparisons have `running_time_ratio`,
    gates have `turn`, and the goal `median`, the default until then, gives way to today's.
    Version 7 has verdicts over suites, and gates name lost cases. Version 8 keeps the schedules
    that won, and the programs that they are of. Version 9 has runs of other days, which stand in
    for new ones. Version 10 has what kernels are held against besides each other. Version
    11 has sessions in several parts. Values that were
    not recorded become None or neutral; anything that does not look like a result is left for the
    codec to refuse.

    Args:
        data: The result, of a version from 1 to `SCHEMA_VERSION`.
    """
    if data["schema_version"] < 2:
        for run in _items(data, "cases", "runs"):
            run.update(before=None, after=None)
            for trial in _items(run, "trials"):
                trial.update(build_s=None, run_s=None, peak_memory_mb=None)
            for round_ in _items(run, "rounds"):
                round_["restarts"] = 0
    if data["schema_version"] < 3:
        _keep_machines_apart(data)
        for run in _items(data, "cases", "runs"):
            run["trials"] = _by_column(run.get("trials"))
        for gate in _items(data, "cases", "verdicts", "gates"):
            gate.update(family=len(_items(data, "cases", "verdicts", "gates")), p_value=None)
    if data["schema_version"] < 4:
        for run in _items(data, "cases", "runs"):
            if "sketches" in run:
                task = {"name": run.get("case"), "weight": 1, "flops": run.get("flops")}
                run["tasks"] = [{**task, "sketches": run.pop("sketches")}]
            for round_ in _items(run, "rounds"):
                round_["task"] = 0
    if data["schema_version"] < 5:
        data["noise"] = []
        for case in _items(data, "cases"):
            machine = case.pop("machine", "")
            for run in _items(case, "runs"):
                run.update(machine=machine, leads=None, leads_s=0.0, last_check=None)
                run["caches"] = _caches(data)
                if isinstance(run.get("final"), dict):
                    run["final"].update(sets=[], places=[])
        for verdict in _items(data, "cases", "verdicts"):
            comparison = verdict.get("comparison")
            if isinstance(comparison, dict) and "candidate" in comparison:
                comparison["challenger"] = comparison.pop("candidate")
            for arm in ("reference", "challenger"):
                if isinstance(comparison, dict) and isinstance(comparison.get(arm), dict):
                    comparison[arm]["optimism"] = None
            for gate in _items(verdict, "gates"):
                _tell_facts(gate, comparison)
    if data["schema_version"] < 6:
        settings = data.get("settings")
        if isinstance(settings, dict) and settings.get("goal") == "median":
            del settings["goal"]
        for verdict in _items(data, "cases", "verdicts"):
            comparison = verdict.get("comparison")
            if isinstance(comparison, dict):
                comparison["running_time_ratio"] = comparison.get("search_ratio")
            for gate in _items(verdict, "gates"):
                gate["turn"] = None
    if data["schema_version"] < 7:
        data.update(lost=[], suites=[])
        for case in _items(data, "cases"):
            case["looks"] = ""
        for gate in _items(data, "cases", "verdicts", "gates"):
            gate.update(lost=[], open=False)
    if data["schema_version"] < 8:
        for case in _items(data, "cases"):
            case["programs"] = []
            for run in _items(case, "runs"):
                run["schedules"] = None
    if data["schema_version"] < 9:
        for run in _items(data, "cases", "runs"):
            run["recorded"] = None
    if data["schema_version"] < 10:
        for case in _items(data, "cases"):
            case["yardsticks"] = []
    if data["schema_version"] < 11:
        data["shards"] = None
    data["schema_version"] = SCHEMA_VERSION


def _caches(data: dict[str, Any]) -> str:
    """How trials found the caches, when a size of what empties them was all that could be given."""
    settings = data.get("settings")
    flushed = isinstance(settings, dict) and bool(settings.get("flush_cache_mb"))
    return "cold" if flushed else "warm"


def _keep_machines_apart(data: dict[str, Any]) -> None:
    machine, settings = data.pop("machine", None), data.get("settings")
    if not isinstance(machine, dict):
        return
    data["machines"] = {fingerprint(machine): machine}
    controlled = isinstance(settings, dict) and settings.get("control") is True
    for case in _items(data, "cases"):
        strategies = case.get("strategies")
        last = (
            strategies[-1] if controlled and isinstance(strategies, list) and strategies else None
        )
        case.update(version="", machine=fingerprint(machine), control=last)


_REASONS: Final = {"holds": "within", "broken": "beyond", "undecided": "straddles"}
"""The likeliest reason for each outcome; verdicts are judged anew from the runs anyway."""


def _tell_facts(gate: dict[str, Any], comparison: Any) -> None:
    """Put facts in place of a gate's sentence."""
    gate.pop("message", None)
    comparison = comparison if isinstance(comparison, dict) else {}
    estimate, arm = comparison.get(str(gate.get("metric"))), comparison.get("challenger")
    undefined = isinstance(estimate, dict) and estimate.get("bound") == "undefined"
    gate.update(
        reason="nothing-to-compare" if undefined else _REASONS.get(str(gate.get("outcome"))),
        estimate=estimate,
        repeats=arm.get("runs") if isinstance(arm, dict) else None,
        noise=0.0,
        advice=None,
    )


def _by_column(rows: Any) -> Any:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return rows
    names = [field.name for field in fields(Trial)]
    if any(set(row) != set(names) for row in rows):
        return rows
    return {name: [row[name] for row in rows] for name in names}


def _items(record: dict[str, Any], *path: str) -> list[dict[str, Any]]:
    """The objects in the lists at a path, lists within lists."""
    found = [record]
    for key in path:
        lists = [holder.get(key) for holder in found]
        found = [x for one in lists if isinstance(one, list) for x in one if isinstance(x, dict)]
    return found
