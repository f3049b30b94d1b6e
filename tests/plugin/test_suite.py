"""The suite's gates: a test of its own, collected last."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from pytest_ansorbench.storage import read_result, write_result
from tests.saved_cases import MORE, SAVED, result_of

# Three cases of five saved runs each; the challenger takes half the time, with kernels as fast.
REPLAY = "--ansor-replay=saved.json"
HOLDS = "--ansor-max-suite-search-ratio=0.9"
BROKEN = "--ansor-max-suite-search-ratio=0.2"
UNDECIDED = "--ansor-max-suite-search-ratio=0.497"  # missed by less than the noise threshold


def test_it_is_collected_last_and_only_with_a_limit(everything):
    listed = everything.bench("--collect-only", "-q", REPLAY, HOLDS).out.splitlines()
    assert listed[3] == "ansor-bench::suite"
    assert "ansor-bench" not in everything.bench("--collect-only", "-q", REPLAY).out


def test_a_suite_that_holds_passes_and_has_a_row(everything):
    outcome = everything.bench(REPLAY, HOLDS, "--junitxml=junit.xml")
    assert outcome.code == 0, outcome.text
    assert "4 passed" in outcome.out
    [row] = [line for line in outcome.out.splitlines() if line.startswith("all cases ")]
    assert row.split()[-1] == "holds"
    assert "3 cases: fast reaches default's throughput in " in outcome.out
    report = ET.parse(everything.root / "junit.xml").getroot()
    [test] = [case for case in report.iter("testcase") if case.get("name") == "suite"]
    properties = {p.get("name"): p.get("value") for p in test.iter("property")}
    assert properties["ansor_suite_fast_verdict"] == "holds"
    assert float(properties["ansor_suite_fast_search_ratio"]) == pytest.approx(0.5, rel=0.01)


def test_a_suite_that_is_broken_fails_with_its_sentence(everything):
    outcome = everything.bench(REPLAY, BROKEN)
    assert outcome.code == 1, outcome.text
    assert "3 passed" in outcome.out
    assert "FAILED ansor-bench::suite" in outcome.out
    failure = outcome.out.split("FAILURES")[1]
    assert "suite of 3 cases, fast against default: search ratio S = 0.50" in failure
    assert "exceeds the limit 0.20: broken" in failure


def test_an_undecided_suite_warns_and_fails_when_strict(everything):
    lenient = everything.bench(REPLAY, UNDECIDED)
    assert lenient.code == 0, lenient.text
    assert "UndecidedWarning: suite of 3 cases" in lenient.out
    strict = everything.bench(REPLAY, UNDECIDED, "--ansor-strict")
    assert strict.code == 1, strict.text


def test_a_case_whose_test_fails_is_named_and_the_suite_does_not_hold(everything):
    write_result(result_of(SAVED[:2]), everything.root / "two.json")
    outcome = everything.bench("--ansor-replay=two.json", HOLDS, "--ansor-json=out.json")
    assert outcome.code == 1, outcome.text
    assert "but 1 case could not be compared: c: undecided" in outcome.out
    result = everything.json("out.json")
    assert result["lost"] == ["c"]
    shown = everything.ansor_bench("show", "out.json")
    assert shown.code == 3, shown.text
    assert "1 case could not be compared: c" in shown.out


def test_without_cases_there_is_nothing_to_judge_it_by(everything):
    outcome = everything.bench(REPLAY, BROKEN, "-k", "nothing")
    assert outcome.code == 5, outcome.text  # no case, so no suite


def test_with_one_arm_a_limit_of_the_command_line_is_refused_at_once(everything):
    refusal = everything.bench(REPLAY, HOLDS, "--ansor-strategy=default").refusal
    assert "nothing to compare: default names no challenger" in refusal
    assert "take the gates away: --ansor-max-suite-search-ratio none" in refusal


def test_with_one_arm_a_limit_of_an_ini_file_is_not_asked_for(everything):
    everything.write("pytest.ini", "[pytest]\nansor_max_suite_search_ratio = 0.2\n")
    outcome = everything.bench(REPLAY, "--ansor-strategy=default", "--ansor-save=reference")
    assert outcome.code == 0, outcome.text
    assert "3 passed" in outcome.out
    told = "not asked for, as default names no challenger: max_suite_search_ratio"
    assert told in outcome.out.splitlines()
    assert everything.bench(REPLAY).code == 1


def test_a_session_that_its_last_test_ends_is_saved_and_one_that_another_ends_is_not(everything):
    outcome = everything.bench(REPLAY, BROKEN, "-x", "--ansor-save=main")
    assert outcome.code == 1, outcome.text
    [path] = (everything.root / ".ansor_bench").glob("*.json")
    assert len(read_result(path).cases) == 3
    gates = ("--ansor-max-early-search-ratio=0.1", BROKEN)
    stopped = everything.bench(REPLAY, *gates, "-x", "--ansor-save=main", "--ansor-json=out.json")
    assert "1 failed" in stopped.out and "passed" not in stopped.out
    result = everything.json("out.json")
    assert [case["case"] for case in result["cases"]] == ["a"]
    [suite] = result["suites"]
    assert result["lost"] == suite["gates"][0]["lost"] == ["b", "c"]
    assert "not saved: --ansor-save: not all has run yet" in stopped.out


def test_false_alarms_are_shared_out_between_cases_and_suite(everything):
    both = ("--ansor-max-early-search-ratio=0.9", HOLDS, "--ansor-json=out.json")
    assert everything.bench(REPLAY, *both).code == 0
    result = everything.json("out.json")
    of_cases = {g["family"] for c in result["cases"] for v in c["verdicts"] for g in v["gates"]}
    assert of_cases == {6}  # three gates with half of the false alarms
    assert {gate["family"] for suite in result["suites"] for gate in suite["gates"]} == {2}


def test_an_allowance_of_the_suite_is_a_gate_of_its_own(everything):
    compare = (REPLAY, "--ansor-compare=saved.json")
    fine = everything.bench(*compare, "--ansor-compare-fail=suite_search_ratio:50%")
    assert fine.code == 0, fine.text
    assert "4 passed" in fine.out
    rows = [line for line in fine.out.splitlines() if line.startswith("all cases ")]
    assert ["search_ratio" in row and "holds" in row for row in rows[1:]] == [True, False]
    missing = everything.bench(REPLAY, "--ansor-compare-fail=suite_search_ratio:5%")
    assert "bad --ansor-compare-fail 'suite_search_ratio:5%': expected --ansor-compare" in (
        missing.refusal
    )


def test_a_suite_that_got_worse_is_broken(everything):
    write_result(result_of(SAVED, seconds_per_trial=0.25), everything.root / "before.json")
    outcome = everything.bench(
        REPLAY, "--ansor-compare=before.json", "--ansor-compare-fail=suite_search_ratio:10%"
    )
    assert outcome.code == 1, outcome.text
    assert "3 passed" in outcome.out
    assert "all cases, fast against the earlier result: search_ratio now over before = 2.0" in (
        outcome.out
    )


def test_an_earlier_result_of_other_cases_breaks_what_the_suite_is_allowed(everything):
    write_result(result_of(MORE[3:]), everything.root / "others.json")
    allowed = ("--ansor-compare=others.json", "--ansor-compare-fail=suite_search_ratio:5%")
    outcome = everything.bench(REPLAY, HOLDS, *allowed)
    assert outcome.code == 1, outcome.text
    told = "search_ratio now over before: nothing could be compared with the limit 1.05: broken"
    assert told in outcome.out.split("FAILURES")[1]


def test_a_goal_of_one_target_adds_up_over_cases(everything):
    outcome = everything.bench(REPLAY, HOLDS, "--ansor-goal=100%")
    assert outcome.code == 0, outcome.text
    assert "4 passed" in outcome.out
