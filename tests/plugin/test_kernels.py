"""`--ansor-kernels`: saved kernels are tests again, without a search."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from pytest_ansorbench.measure import process_sets
from pytest_ansorbench.measure.side_by_side import Span
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.records.rebuilt_kernels import KernelSide
from tests import interpreters
from tests.faults import Doubling
from tests.plugin.test_blame import HINT, message_of

QUICK = "--ansor-kernel-sets=2"
KERNELS = "--ansor-kernels=saved.json"


@pytest.fixture(scope="module", autouse=True)
def _few_turns():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_sets, "_TURNS", Span(5, 5))
        yield


@pytest.fixture
def benched(searched, tmp_path):
    """A project with the result of a bench of its case."""
    return searched.copy(tmp_path)


def test_each_case_is_a_test_and_nothing_is_searched(benched):
    outcome = benched.bench(KERNELS, QUICK, "--ansor-json=kernels.json", "--junitxml=junit.xml")
    assert outcome.code == 0, outcome.text
    assert "1 passed" in outcome.out and "ansor kernels" in outcome.out
    assert "recorded" in outcome.out and "today: Python" in outcome.out
    [kernel] = benched.json("kernels.json")["kernels"]
    assert [side["toolchain"] for side in kernel["sides"]] == ["recorded", "today"]
    properties = ET.parse(benched.root / "junit.xml").getroot().iter("property")
    assert f"ansor_kernels_today_{Doubling.id}_throughput_ratio" in {
        p.get("name") for p in properties
    }
    assert len(list(benched.journal().parent.iterdir())) == 1


def test_gates_of_cases_and_of_all_kernels_hold_or_break(benched):
    against = f"--ansor-against={interpreters.as_it_is(benched.root)}"
    words = [KERNELS, "--ansor-kernel-sets=3", against]
    low = ["--ansor-min-throughput-ratio=1e-6", "--ansor-min-suite-throughput-ratio=1e-6"]
    holds = benched.bench(*words, *low)
    assert holds.code == 0, holds.text
    assert "2 passed" in holds.out
    assert "suite of 1 kernel, today against against: throughput ratio" in holds.out
    high = ["--ansor-min-throughput-ratio=1e6", "--ansor-min-suite-throughput-ratio=1e6"]
    broken = benched.bench(*words, *high)
    assert broken.code == 1, broken.text
    assert "2 failed" in broken.out and "FAILED ansor-bench::kernels" in broken.out
    assert f"{Doubling.id}, today against against: throughput ratio" in broken.out


def test_a_case_none_of_whose_kernels_works_fails_without_a_gate(benched):
    outcome = benched.bench(KERNELS, QUICK, "--ansor-run-timeout=1e-05")
    assert outcome.code == 1, outcome.text
    assert (
        "doubling: today has no winner that is right: 1 of 1 winner run-timeout (no result after "
        "1e-05 s); --ansor-run-timeout is 1e-05: give more, e.g. --ansor-run-timeout 30"
    ) in outcome.out


def test_kernels_that_have_nothing_to_be_held_to_are_undecided(benched, monkeypatch):
    lost = Remeasurement(None, "run-error", (), "planted")
    side = KernelSide("recorded", lost)
    monkeypatch.setattr("pytest_ansorbench.kernels.rebuilding.recorded_side", lambda _: side)
    gates = ["--ansor-min-throughput-ratio=0.9", "--ansor-min-suite-throughput-ratio=0.9"]
    outcome = benched.bench(KERNELS, QUICK, *gates)
    assert outcome.code == 0 and outcome.out.count("no kernel of the reference works") == 2
    assert benched.bench(KERNELS, QUICK, *gates, "--ansor-strict").code == 1
    assert benched.bench(KERNELS, QUICK).code == 0


def test_a_file_of_kernels_that_cannot_be_written_fails_the_session(benched):
    outcome = benched.bench(KERNELS, QUICK, "--ansor-json=/dev/full")
    assert outcome.code == 1, outcome.text
    assert "1 passed" in outcome.out and "ansor kernels" in outcome.out
    assert "not written: --ansor-json: bad result file '/dev/full': expected" in outcome.out
    assert "INTERNALERROR" not in outcome.text and "Traceback" not in outcome.text


def test_a_marker_has_a_gate_of_its_own(benched):
    benched.replace("test_cases.py", "trials=4", "min_throughput_ratio=1e6, trials=4")
    outcome = benched.bench(KERNELS, "--ansor-kernel-sets=3", "--ansor-variant=o1:opt-level=1")
    assert outcome.code == 1, outcome.text
    assert "o1 against today" in outcome.out


def test_a_marker_is_strict_for_its_test(benched):
    """Saved latencies of one set have no interval, so that their gate is undecided."""
    benched.replace("test_cases.py", "trials=4", "min_throughput_ratio=1e6, strict=True, trials=4")
    outcome = benched.bench(KERNELS, QUICK)
    assert outcome.code == 1, outcome.text
    assert "undecided" in outcome.out.split("FAILURES")[1]


IN_ITS_BODY = """
from tests.faults import Doubling

def test_it(ansor_bench):
    ansor_bench(Doubling())
"""
COUNTED = """
def pytest_collection_finish(session):
    print("gates", session.config.pluginmanager.getplugin("ansorbench-bench")._gates)
"""


def test_gates_of_a_case_that_a_test_names_in_its_body_are_counted(benched):
    benched.write("test_cases.py", IN_ITS_BODY)
    benched.write("conftest.py", COUNTED)
    outcome = benched.bench(KERNELS, "--ansor-min-throughput-ratio=0.5", "--collect-only", "-s")
    assert "gates (1, 0)" in outcome.out, outcome.text


FAULTY = """
import pytest
from tests.faults import Doubling

class Faulty(Doubling):
    {member}

@pytest.mark.ansor_bench({keywords})
@pytest.mark.parametrize("case", [Faulty()], ids=["x"])
def test_faulty(ansor_bench, case):
    ansor_bench(case)
"""


@pytest.mark.parametrize(
    ("member", "keywords", "message"),
    [
        (
            "id = property(lambda self: self.name)",
            "min_throughput_ratio=0.9",
            "test_cases.py:6: in <lambda>: AttributeError: ",
        ),
        (
            "pass",
            "trails=4",
            "test_cases.py::test_faulty[x]: bad marker keyword 'trails': expected",
        ),
    ],
)
def test_a_faulty_case_or_marker_is_named_when_it_is_collected(benched, member, keywords, message):
    benched.write("test_cases.py", FAULTY.format(member=member, keywords=keywords))
    assert benched.bench(KERNELS, "--collect-only").refusal.startswith(message)


def test_a_case_without_tasks_to_check_by_fails_its_test_in_one_line(benched):
    member = "def tasks(self): return self.nonsense"
    benched.write("test_cases.py", FAULTY.format(member=member, keywords=""))
    outcome = benched.bench(KERNELS, QUICK, "-rN")
    assert outcome.code == 1, outcome.text
    line = message_of(outcome, "test_faulty[x]")
    assert line.startswith("test_cases.py:6: in tasks: AttributeError: ")
    assert line.endswith(f"(while making the case's kernels again; {HINT}")


def test_a_case_that_was_not_saved_is_skipped(benched):
    benched.write(
        "test_more.py",
        "from pytest_ansorbench.workloads import CONV2D\n"
        "def test_other(ansor_bench):\n    ansor_bench(CONV2D[0])\n",
    )
    outcome = benched.bench(KERNELS, QUICK, "-rs")
    assert outcome.code == 0, outcome.text
    assert "saved.json keeps no schedule of conv2d" in outcome.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ansor-kernels=none.json"], "bad --ansor-kernels: "),
        ([KERNELS, "--ansor-kernel-sets=1"], "expected auto or a number from 2"),
        ([KERNELS, "--ansor-variant=x"], "expected NAME:KEY=VALUE"),
        ([KERNELS, "--ansor-variant=x:mcpu=z80"], "no CPU 'z80'"),
        ([KERNELS, "--ansor-against=/nowhere/python"], "cannot start the interpreter"),
        (
            [KERNELS, "--ansor-caches=cold"],
            "its latencies were measured with other caches (warm is now cold); give --ansor-ag",
        ),
        ([KERNELS, "--ansor-caches=network"], "kernels of --ansor-kernels are in no network; le"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(benched, words, message):
    assert message in benched.bench(*words).refusal


@pytest.mark.parametrize(
    "option",
    [
        "--ansor-autosave",
        "--ansor-control",
        "--ansor-learn=own",
        "--ansor-max-early-search-ratio=1.0",
        "--ansor-max-suite-search-ratio=0.9",
        "--ansor-reference-kernels=untuned",
        "--ansor-reference=saved.json",
        "--ansor-report=html:r.html",
        "--ansor-resume",
        "--ansor-roofline",
        "--ansor-save=x",
        "--ansor-shard=1/2",
        "--ansor-strategy=draft",
        "--ansor-toolchain=old=python",
    ],
)
def test_options_of_searches_are_refused(benched, option):
    outcome = benched.bench(KERNELS, option)
    assert f"bad {option.partition('=')[0]}: --ansor-kernels searches nothing" in outcome.refusal


def test_a_result_without_schedules_is_refused(benched):
    result = benched.json("saved.json")
    result["cases"][0]["programs"] = []
    benched.write("saved.json", json.dumps(result))
    outcome = benched.bench(KERNELS)
    assert "it keeps no schedules: no trial of it was valid; measure again" in outcome.refusal


def test_without_kernels_the_other_options_mean_nothing(benched):
    outcome = benched.bench("--ansor-against=python")
    assert "bad --ansor-against: expected --ansor-kernels with it" in outcome.refusal
