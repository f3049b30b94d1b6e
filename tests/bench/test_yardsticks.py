"""What kernels are held against is measured once a case and machine, and kept."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench import YardstickPlan
from pytest_ansorbench.bench import yardsticks as module
from pytest_ansorbench.bench.prepared import PreparedCase, prepare
from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.storage import read_journal, read_peak
from pytest_ansorbench.storage.entries import YardsticksEntry
from pytest_ansorbench.workloads import BatchMatmul, Mlp, Moe, from_relax
from tests.bench.conftest import ONE, PLAN, Another, repeats
from tests.fast_engine import FastEngine
from tests.faults import Doubling
from tests.relax_modules import product
from tests.synthetic import PEAK, make_yardsticks

UNTUNED = YardstickPlan(implementations=("untuned",))
ALL = YardstickPlan(True, ("untuned",))


@pytest.fixture(autouse=True)
def peaks(monkeypatch):
    """Stands for seconds of measuring; counts how often."""
    measured = []

    def measure_peak(engine, operands):
        measured.append(operands)
        return dataclasses.replace(PEAK, operands=operands)

    monkeypatch.setattr(module, "measure_peak", measure_peak)
    return measured


def test_a_result_has_them_once_a_case(make_session, peaks, tmp_path):
    session = make_session(yardsticks=ALL)
    [found] = session.run(Doubling(), [ONE], PLAN).yardsticks
    [untuned] = found.kernels
    assert untuned.implementation == "untuned"
    assert untuned.latency_s > 0.0
    assert found.peak == PEAK
    assert found.argument_bytes == 2 * Doubling().flops * 4  # an input and an output
    session.run(Another(), [ONE], PLAN)
    assert len(peaks) == 1  # the machine is the same
    cores = usable_cores().to_pin_to
    assert read_peak(tmp_path / "storage", found.machine, "float32", cores) == PEAK
    measured = read_journal(session.journal).of(YardsticksEntry)
    assert [entry.label for entry in measured] == ["doubling", "another"]


def test_where_no_peak_can_be_measured_that_is_tried_once(make_session, monkeypatch):
    tried = []
    monkeypatch.setattr(module, "measure_peak", lambda *of: tried.append(of))
    session = make_session(yardsticks=ALL)
    result = session.run(Doubling(), [ONE], PLAN)
    assert [run.seed for run in result.runs] == [0, 1]
    entries = read_journal(session.journal).entries
    assert [type(entry) for entry in entries].count(YardsticksEntry) == len(tried) == 1


def test_other_cores_have_a_peak_of_their_own(prepared, target, peaks, tmp_path):
    with FastEngine(target) as engine:
        for cores in ((0, 1), (2, 3), (0, 1)):
            plan = YardstickPlan(roofline=True, cores=cores)
            assert plan.measured(prepared, engine, tmp_path, lambda what: None).peak == PEAK
    assert len(peaks) == 2


def test_without_a_wish_there_are_none(make_session, peaks):
    session = make_session()
    assert session.run(Doubling(), [ONE], PLAN).yardsticks == ()
    assert not peaks


def test_a_resumed_session_measures_what_its_journal_lacks(make_session, peaks):
    first = make_session(yardsticks=UNTUNED)
    [before] = first.run(Doubling(), [ONE], PLAN).yardsticks
    first.close()
    past = read_journal(first.journal)
    again = make_session(yardsticks=UNTUNED, past=past)
    assert again.run(Doubling(), [ONE], PLAN).yardsticks == (before,)
    again.close()
    demanding = make_session(yardsticks=ALL, past=read_journal(again.journal))
    [after] = demanding.run(Doubling(), [ONE], repeats(3)).yardsticks
    assert (after.peak, len(after.kernels)) == (PEAK, 1)
    assert len(peaks) == 1


def test_a_plan_is_met_by_all_that_it_asks_for():
    found = make_yardsticks()  # a peak
    assert YardstickPlan().is_met_by(None)
    assert YardstickPlan(True, ("torch",)).is_met_by(found)  # PyTorch takes turns with winners
    assert not YardstickPlan(True).is_met_by(None)
    assert not UNTUNED.is_met_by(found)
    assert YardstickPlan(implementations=("torch",)).is_met_by(None)


@pytest.mark.parametrize(
    ("dtype", "told"),
    [
        ("float32", []),
        ("float64", []),
        ("uint8", []),
        ("bfloat16", ["bfloat16"]),
    ],
)
def test_no_peak_is_known_of_other_narrow_types(target, dtype, told):
    case = BatchMatmul(batch=1, m=2, n=3, k=4, dtype=dtype)
    notes = []
    prepared = PreparedCase(case, case.tasks())
    plan = ALL.of(prepared, target, notes.append)
    assert plan == dataclasses.replace(ALL, roofline=not told)
    assert notes == [
        f"{case.id}  not held against the machine's peak: it has {types}" for types in told
    ]
    assert UNTUNED.of(prepared, target, notes.append) == UNTUNED
    assert len(notes) == len(told)


def test_no_peak_is_known_of_a_gpus_bytes():
    case, notes = BatchMatmul(batch=1, m=2, n=3, k=4, dtype="uint8"), []
    cuda = resolve_target('{"kind": "cuda", "arch": "sm_70"}')
    assert not ALL.of(PreparedCase(case, case.tasks()), cuda, notes.append).roofline
    assert len(notes) == 1 and "it has int32 and int8 and uint8" in notes[0]


def test_a_rewritten_model_may_do_with_fewer_operations_than_count(target):
    case, notes = from_relax("mine", lambda: product(1.0), rewrite=lambda module: module), []
    assert not ALL.of(PreparedCase(case, case.tasks()), target, notes.append).roofline
    assert notes == [
        "mine  not held against the machine's peak: its rewrite may save operations that count"
    ]


def test_rows_that_no_index_chooses_are_not_read(target, tmp_path):
    case = Moe(blocks=3, rows=2, experts=64, n=5, k=4)
    prepared = PreparedCase(case, case.tasks())
    data, _, experts = prepared.check.inputs
    chosen = len({*experts.tolist()})
    with FastEngine(target) as engine:
        found = YardstickPlan().measured(prepared, engine, tmp_path, lambda what: None)
    assert found.argument_bytes == 4 * (data.size + chosen * 5 * 4 + 3 + 3 * 2 * 5)


def test_bytes_have_a_peak_of_their_own(target, peaks, tmp_path):
    case = BatchMatmul(batch=1, m=2, n=3, k=4, dtype="uint8")
    prepared = PreparedCase(case, case.tasks())
    with FastEngine(target) as engine:
        found = YardstickPlan(True).measured(prepared, engine, tmp_path, lambda what: None)
    assert peaks == [found.peak.operands] == ["int8"]


def test_a_network_is_timed_as_a_whole(target, tmp_path):
    network = Mlp(features=24, hidden=(16, 16), classes=5)
    with FastEngine(target) as engine:
        prepared = prepare(network, network.tasks(), engine, lambda what: None)
        plan = YardstickPlan(implementations=("untuned", "first"))
        found = plan.measured(prepared, engine, tmp_path, lambda what: None)
    untuned, first = found.kernels
    assert first.implementation == "first"
    assert min(untuned.latency_s, first.latency_s) > 0.0
    arrays = (*network.arguments(), *prepared.network.check.expected)
    assert found.argument_bytes == sum(array.nbytes for array in arrays)
    slow = dataclasses.replace(prepared.network, untuned_s=2.0)
    plan = YardstickPlan(implementations=("untuned",))
    # The engine is not started: nothing can be measured.
    again = plan.measured(
        dataclasses.replace(prepared, network=slow), engine, tmp_path, lambda what: None
    )
    assert [(kernel.version, kernel.latencies_s) for kernel in again.kernels] == [("", (2.0,))]


@pytest.mark.parametrize(("found", "told"), [("0.28.dev1", "0.28.dev1"), (None, "")])
def test_a_tvm_that_is_no_package_has_no_version(prepared, target, tmp_path, found, told):
    with FastEngine(target) as engine:
        engine.machine = {**engine.machine, "packages": {"apache-tvm": found}}
        [untuned] = UNTUNED.measured(prepared, engine, tmp_path, lambda what: None).kernels
    assert (untuned.version, untuned.error) == (told, "")
