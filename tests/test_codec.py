"""Records to JSON and back: equal, strict, and with the path to whatever does not fit."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.codec import MAX_DEPTH, from_json, to_json
from pytest_ansorbench.records import (
    Advice,
    ArmSummary,
    CaseResult,
    Comparison,
    Estimate,
    Gate,
    MachineNoise,
    NoiseTrace,
    RecordError,
    Remeasurement,
    Result,
    Round,
    Run,
    TaskRecord,
    Trial,
    Verdict,
)
from tests.synthetic import make_result, make_run

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = FINITE | st.just(math.inf)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON_VALUES, max_size=3)


def tuples(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=3).map(tuple)


def build(cls: type, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Like `st.builds`, with every number that a record can hold."""
    for field in dataclasses.fields(cls):
        if field.type == "float":
            fields.setdefault(field.name, NUMBERS)
        elif field.type == "float | None":
            fields.setdefault(field.name, st.none() | NUMBERS)
    names = {field.name for field in dataclasses.fields(cls)}
    plain = {"str": st.text(), "int": st.integers()}
    types = {field.name: field.type for field in dataclasses.fields(cls)}
    for name in names - fields.keys():
        if types[name] in plain:
            fields[name] = plain[types[name]]
    return st.builds(cls, **fields)


SECONDS = st.floats(0.0, 1e9)
LATENCIES = st.lists(st.floats(1e-12, 1e9), min_size=1, max_size=5).map(tuple)


def measured(cls: type, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records that have samples if they are valid."""
    valid = build(cls, status=st.just("ok"), latencies_s=LATENCIES, **fields)
    failed = build(cls, status=st.just("run-error"), latencies_s=st.just(()), **fields)
    return valid | failed


FINALS = measured(Remeasurement)
ROUNDS = build(
    Round,
    decisions=OBJECTS,
    task=st.just(0),
    **dict.fromkeys(("propose_s", "build_s", "run_s", "learn_s"), SECONDS),
)
RUNS = build(
    Run,
    flops=st.integers(1, 10**24),
    tasks=build(
        TaskRecord,
        weight=st.integers(1, 10**9),
        flops=st.integers(0, 10**24),
        sketches=tuples(st.text()),
    ).map(lambda task: (task,)),
    rounds=st.lists(ROUNDS, min_size=1, max_size=3).map(tuple),
    trials=tuples(measured(Trial, round=st.just(1), search_s=SECONDS)).map(
        lambda trials: tuple(
            dataclasses.replace(trial, index=index) for index, trial in enumerate(trials)
        )
    ),
    final=st.none() | FINALS,
    leads_s=SECONDS,
    run_time_s=st.none() | st.floats(1e-3, 1e9),
)
ESTIMATES = build(Estimate)
ARMS = build(ArmSummary)
COMPARISONS = build(
    Comparison,
    reference=ARMS,
    challenger=ARMS,
    search_ratio=ESTIMATES,
    search_ratio_early=ESTIMATES,
    search_ratio_paper=ESTIMATES,
    search_ratio_trials=ESTIMATES,
    running_time_ratio=ESTIMATES,
    throughput_ratio=ESTIMATES,
    ahead_to=st.none() | SECONDS,
)
GATES = build(Gate, estimate=ESTIMATES, advice=st.none() | build(Advice))
VERDICTS = build(Verdict, comparison=COMPARISONS, gates=tuples(GATES))
CASES = build(
    CaseResult,
    strategies=st.lists(st.text(), unique=True, min_size=1, max_size=3).map(tuple),
    runs=st.just(()),
    verdicts=st.just(()),
)
NOISE = build(
    MachineNoise,
    moment=st.sampled_from(["start", "end"]),
    trace=build(
        NoiseTrace,
        slice_s=st.floats(1e-12, 1e9),
        elapsed_s=st.floats(1e-12, 1e9),
        latencies_s=st.lists(st.floats(1e-12, 1e9), min_size=2, max_size=2).map(tuple),
        processes=st.sampled_from([(0, 1), (1, 0)]),
    ),
)
RESULTS = build(
    Result,
    machines=st.dictionaries(st.text(), OBJECTS, max_size=3),
    commit=OBJECTS,
    settings=OBJECTS,
    cases=tuples(CASES),
)


@settings(deadline=None)
@given(st.one_of(RUNS, COMPARISONS, VERDICTS, NOISE, RESULTS))
def test_reading_back_gives_an_equal_record(record: Any) -> None:
    text = json.dumps(to_json(record), allow_nan=False)
    assert from_json(type(record), json.loads(text)) == record


@settings(deadline=None)
@given(JSON_VALUES, st.sampled_from([Result, Run, Trial, Round, Estimate, Verdict]))
def test_arbitrary_json_gives_a_record_or_a_record_error(data: Any, cls: type) -> None:
    try:
        record = from_json(cls, data)
    except RecordError as error:
        assert "expected" in str(error)
    else:
        assert isinstance(record, cls)


@settings(deadline=None)
@given(st.data())
def test_a_result_with_one_value_replaced_gives_a_record_or_a_record_error(
    data: st.DataObject,
) -> None:
    values = json.loads(json.dumps(to_json(make_result())))
    parent: Any = values
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = data.draw(st.sampled_from(keys))
        if not parent[key] or not isinstance(parent[key], (dict, list)) or data.draw(st.booleans()):
            break
        parent = parent[key]
    parent[key] = data.draw(JSON_VALUES)
    try:
        assert isinstance(from_json(Result, values), Result)
    except RecordError as error:
        assert "expected" in str(error)


def planted(change: Callable[[dict[str, Any]], object]) -> str:
    """The message on a result with a planted fault."""
    values = to_json(make_result())
    change(values)
    with pytest.raises(RecordError) as caught:
        from_json(Result, values)
    return str(caught.value)


def status_of(values: dict[str, Any], run: int) -> list[Any]:
    statuses: list[Any] = values["cases"][0]["runs"][run]["trials"]["status"]
    return statuses


def test_bad_literal_names_path_value_and_choices() -> None:
    message = planted(lambda v: status_of(v, 2).__setitem__(3, "foo"))
    assert message == (
        "bad cases[0].runs[2].trials.status[3] 'foo': expected one of ok, build-error, "
        "build-timeout, run-error, run-timeout, wrong-result"
    )


@pytest.mark.parametrize("status", [["ok"], {"ok": 1}, None, 1, True])
def test_a_literal_may_be_of_any_wrong_type(status: Any) -> None:
    message = planted(lambda v: status_of(v, 0).__setitem__(0, status))
    assert message.startswith("bad cases[0].runs[0].trials.status[0]")


def test_missing_field_is_named() -> None:
    message = planted(lambda v: v["cases"][0].pop("verdicts"))
    assert message.startswith("bad cases[0] {")
    assert message.endswith("expected the field 'verdicts', which is missing")


def test_unknown_field_is_named() -> None:
    message = planted(lambda v: v["cases"][0].update(extra=1))
    assert message.startswith("bad cases[0].extra 1: expected no such field, only case,")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", True),
        ("seed", 1.0),
        ("seed", "1"),
        ("case", 1),
        ("case", None),
        ("rounds", {}),
        ("trials", "abc"),
        ("final", []),
    ],
)
def test_wrong_type_is_refused_with_its_path(field: str, value: Any) -> None:
    message = planted(lambda v: v["cases"][0]["runs"][1].update({field: value}))
    assert message.startswith(f"bad cases[0].runs[1].{field} {value!r}: expected ")


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "nan", "-inf", True, None, [], 10**400]
)
def test_only_finite_numbers_and_inf_are_floats(value: Any) -> None:
    with pytest.raises(RecordError, match=r"bad low .*: expected a finite number or 'inf'"):
        from_json(Estimate, {"value": 1.0, "low": value, "high": 1.0, "bound": "value"})


def test_infinity_is_the_string_inf() -> None:
    values = to_json(Estimate(1.0, 0.0, math.inf))
    assert values["high"] == "inf"
    assert from_json(Estimate, values).high == math.inf


def test_a_whole_number_is_a_float_where_one_is_expected() -> None:
    estimate = from_json(Estimate, {"value": 1, "low": 0, "high": 2, "bound": "value"})
    assert isinstance(estimate.value, float)


@pytest.mark.parametrize("value", [math.nan, -math.inf, "1", None, True, 10**400])
def test_a_bad_float_is_not_written(value: Any) -> None:
    with pytest.raises(RecordError, match="bad value"):
        to_json(Estimate(value, 0.0, 1.0))


def test_numpy_floats_are_written_as_plain_ones() -> None:
    assert type(to_json(Estimate(np.float64(0.5), 0.0, 1.0))["value"]) is float


def test_numpy_integers_are_refused_when_written() -> None:
    with pytest.raises(RecordError, match=r"bad seed .*: expected a whole number"):
        to_json(dataclasses.replace(make_run(), seed=np.int64(3)))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1: 2}, {"deep": [math.nan]}])
def test_free_form_values_that_are_no_json_are_not_written(value: Any) -> None:
    with pytest.raises(RecordError, match=r"bad rounds\[0\].decisions.score"):
        to_json(make_run(decisions={"score": value}))


def test_free_form_tuples_become_lists() -> None:
    assert to_json(Round(1, 0, 0, 0, 0, {"picked": (1, 2)}))["decisions"] == {"picked": [1, 2]}


def test_nesting_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    message = planted(lambda v: v.update(machines={"cpu": deep}))
    assert f"nested at most {MAX_DEPTH} deep" in message


def test_records_are_copied_not_shared() -> None:
    decisions = {"picked": [1]}
    values = to_json(Round(1, 0, 0, 0, 0, decisions))
    values["decisions"]["picked"].append(2)
    assert decisions == {"picked": [1]}


def test_unsupported_field_types_are_the_programmers_error() -> None:
    @dataclasses.dataclass
    class Odd:
        names: set[str]

    Odd.__annotations__["names"] = set[str]
    with pytest.raises(TypeError, match="bad type"):
        to_json(Odd(set()))


@pytest.mark.parametrize("data", [None, [], "x", 1, True])
def test_a_record_is_an_object(data: Any) -> None:
    with pytest.raises(
        RecordError, match=r"^bad value .*: expected an object with the fields value"
    ):
        from_json(Estimate, data)
