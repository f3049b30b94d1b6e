"""Gates from command line, marker and ini file: broken fails, undecided warns, strict fails."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from pytest_ansorbench.plugin import judging
from tests.synthetic import make_case_result, make_run

# Five saved runs of a challenger that takes half the time, with kernels as fast.
REPLAY = "--ansor-replay=saved.json"
BROKEN = "--ansor-min-throughput-ratio=2"
HOLDS = "--ansor-max-early-search-ratio=0.9"
UNDECIDED = "--ansor-max-early-search-ratio=0.497"  # missed by less than the noise threshold


@pytest.mark.usefixtures("fast_engine")
def test_a_broken_gate_of_a_live_search_fails_its_test(project):
    # No challenger is ten thousand times as fast; below four repeats no gate could be broken.
    outcome = project.bench("--ansor-repeats=4", "--ansor-min-throughput-ratio=10000")
    assert outcome.code == 1, outcome.text
    assert "doubling, two against one: throughput ratio = " in outcome.out.split("FAILURES")[1]


def test_a_broken_gate_fails_its_test_with_figures_limit_and_row(saved):
    outcome = saved.bench(REPLAY, BROKEN, HOLDS, "--junitxml=junit.xml")
    assert outcome.code == 1, outcome.text
    failure = outcome.out.split("FAILURES")[1]
    assert (
        "a, fast against default: throughput ratio = 1.00 [1.00, 1.00] falls short of the limit "
        "2.00: broken"
    ) in failure
    assert "search ratio S" not in failure
    assert "Traceback" not in failure
    assert "1 (ref)" in failure
    report = ET.parse(saved.root / "junit.xml").getroot()
    assert report.find(".//failure") is not None
    properties = {p.get("name"): p.get("value") for p in report.iter("property")}
    assert properties["ansor_fast_verdict"] == "broken"
    assert float(properties["ansor_fast_throughput_ratio"]) == 1.0


def test_a_property_is_a_number_only_where_there_is_one():
    reference = [make_run(seed=seed) for seed in range(4)]
    late = [make_run(strategy="fast", seed=seed, latencies=[9.0] * 4) for seed in range(4)]
    [verdict] = make_case_result(reference=reference, challengers={"fast": late}).verdicts
    assert judging.case_properties(verdict)[:2] == [
        ("ansor_fast_search_ratio", ">= 1.00"),
        ("ansor_fast_throughput_ratio", "n/a"),
    ]


def test_a_gate_that_holds_passes(saved):
    outcome = saved.bench(REPLAY, HOLDS)
    assert outcome.code == 0, outcome.text
    assert "holds" in outcome.out
    assert "1 warning" not in outcome.out


def test_an_undecided_gate_passes_with_a_warning_and_fails_when_strict(saved):
    lenient = saved.bench(REPLAY, UNDECIDED)
    assert lenient.code == 0, lenient.text
    told = "UndecidedWarning: a, fast against default: early search ratio S_early = 0.50"
    assert told in lenient.out
    strict = saved.bench(REPLAY, UNDECIDED, "--ansor-strict")
    assert strict.code == 1, strict.text
    assert "exceeds the limit 0.497 by less than 1%: undecided" in strict.out


def test_a_gate_can_be_taken_away(saved):
    outcome = saved.bench(REPLAY, "--ansor-min-throughput-ratio=none", HOLDS, "--ansor-json=o.json")
    assert outcome.code == 0, outcome.text
    [gate] = saved.json("o.json")["cases"][0]["verdicts"][0]["gates"]
    assert gate["metric"] == "search_ratio_early"


def test_the_noise_threshold_is_a_setting(saved):
    outcome = saved.bench(REPLAY, UNDECIDED, "--ansor-noise=0.001")
    assert outcome.code == 1, outcome.text
    assert "exceeds the limit 0.497: broken" in outcome.out


def test_a_gate_with_nothing_to_compare_fails_before_anything_is_run(project):
    outcome = project.bench("--ansor-strategy=default", "--ansor-control", HOLDS)
    assert outcome.code == 1
    assert "nothing to compare: default names no challenger" in outcome.out
    assert not list(project.root.glob(".ansor_bench/journals/*"))


@pytest.mark.parametrize("where", ["marker", "ini"])
def test_gates_of_marker_and_ini_are_asked_of_two_arms_only(saved, where):
    if where == "marker":
        saved.replace("test_cases.py", "bench()", "bench(min_throughput_ratio=2)")
    else:
        saved.write("pytest.ini", "[pytest]\nansor_min_throughput_ratio = 2\n")
    outcome = saved.bench(REPLAY, "--ansor-strategy=default", "--ansor-json=out.json")
    assert outcome.code == 0, outcome.text
    told = "not asked for, as default names no challenger: min_throughput_ratio (1 test)"
    assert told in outcome.out.splitlines()
    assert saved.json("out.json")["cases"][0]["verdicts"] == []
    both = saved.bench(REPLAY)
    assert both.code == 1 and "not asked for" not in both.out
    assert "limit 2.00" in both.out


def test_a_gate_of_the_command_line_is_refused_beside_those_of_a_marker(saved):
    saved.replace("test_cases.py", "bench()", "bench(min_throughput_ratio=2)")
    outcome = saved.bench(REPLAY, HOLDS, "--ansor-strategy=default")
    assert outcome.code == 1
    assert "nothing to compare: default names no challenger, but a gate is set" in outcome.out
    assert "take the gates away: --ansor-max-early-search-ratio none" in outcome.out
    assert "--ansor-min-throughput-ratio none" not in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_a_live_search_of_one_arm_is_run_whatever_its_marker_has(project):
    project.replace("test_cases.py", "trials=4,", "trials=4, min_throughput_ratio=10000,")
    outcome = project.bench("--ansor-strategy=one", "--ansor-json=out.json")
    assert outcome.code == 0, outcome.text
    [case] = project.json("out.json")["cases"]
    assert case["strategies"] == ["one"] and len(case["runs"]) == 1
    assert "not asked for, as one names no challenger: min_throughput_ratio (1 test)" in outcome.out


def test_false_alarms_are_shared_out_among_the_gates_of_the_session(everything):
    outcome = everything.bench(
        REPLAY, HOLDS, "--ansor-min-throughput-ratio=0.1", "--ansor-json=out.json"
    )
    assert outcome.code == 0, outcome.text
    gates = [
        gate
        for case in everything.json("out.json")["cases"]
        for verdict in case["verdicts"]
        for gate in verdict["gates"]
    ]
    assert [gate["family"] for gate in gates] == [6] * 6
    alone = everything.bench(REPLAY, HOLDS, "--ansor-case=b", "--ansor-json=out.json")
    assert alone.code == 0, alone.text
    [case] = everything.json("out.json")["cases"]
    assert case["verdicts"][0]["gates"][0]["family"] == 1


@pytest.mark.parametrize(
    ("goal", "target"), [("50%", "50% of the way from the reference's first"), ("0.4", "0.4 GFL")]
)
def test_the_goal_is_a_setting(saved, goal, target):
    outcome = saved.bench(REPLAY, f"--ansor-goal={goal}", "-v")
    assert outcome.code == 0, outcome.text
    assert f"target: {target}" in outcome.out
    outcome = saved.bench(REPLAY, "--ansor-goal=best")
    assert "bad --ansor-goal 'best': expected way, or way:80% to begin at" in outcome.refusal


@pytest.mark.usefixtures("fast_engine")
def test_a_control_is_shown_explained_and_not_gated(project):
    outcome = project.bench(
        "--ansor-control", "--ansor-min-throughput-ratio=10000", "--ansor-json=result.json"
    )
    assert outcome.code == 0, outcome.text  # one repeat leaves the gate undecided
    [case] = project.json("result.json")["cases"]
    assert case["strategies"] == ["one", "two", "one-again"]
    assert case["control"] == "one-again"
    gated = [verdict for verdict in case["verdicts"] if verdict["gates"]]
    assert [v["comparison"]["challenger"]["strategy"] for v in gated] == ["two"]
    assert "control: doubling: one against itself: S " in outcome.out
    told = ("control: doubling: one cut off after ", "never reaches", ": it saves no time")
    assert any(words in outcome.out for words in told)
