"""Gates from command line, marker and ini file: broken fails, undecided warns, strict fails."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

# Fewer repeats cannot break a gate, however bad the figure.
ENOUGH = "--ansor-repeats=3"

# No candidate is ten thousand times as fast as a reference, and none is that much slower.
BROKEN = "--ansor-min-throughput-ratio=10000"
HOLDS = "--ansor-min-throughput-ratio=0.0001"


def test_a_broken_gate_fails_its_test_with_figures_limit_and_row(project):
    outcome = project.bench(
        ENOUGH, BROKEN, "--ansor-max-search-ratio=10000", "--junitxml=junit.xml"
    )
    assert outcome.code == 1, outcome.text
    failure = outcome.out.split("FAILURES")[1]
    assert "doubling, two against one: throughput ratio = " in failure
    assert "10000" in failure
    assert "broken" in failure
    assert "search ratio (s)" not in failure
    assert "Traceback" not in failure
    assert "1 (ref)" in failure
    report = ET.parse(project.root / "junit.xml").getroot()
    assert report.find(".//failure") is not None
    properties = {p.get("name"): p.get("value") for p in report.iter("property")}
    assert properties["ansor_two_verdict"] == "broken"
    assert float(properties["ansor_two_throughput_ratio"]) > 0


def test_a_gate_that_holds_passes(project):
    outcome = project.bench(ENOUGH, HOLDS)
    assert outcome.code == 0, outcome.text
    assert "holds" in outcome.out
    assert "1 warning" not in outcome.out  # of pytest's; the machine's is another matter


def test_an_undecided_gate_passes_with_a_warning_and_fails_when_strict(project):
    lenient = project.bench("--ansor-min-throughput-ratio=0.9")
    assert lenient.code == 0, lenient.text
    assert "UndecidedWarning: doubling, two against one: throughput ratio" in lenient.out
    strict = project.bench("--ansor-min-throughput-ratio=0.9", "--ansor-strict")
    assert strict.code == 1, strict.text
    assert "undecided" in strict.out


def test_a_gate_with_nothing_to_compare_fails(project):
    outcome = project.bench(HOLDS, "--ansor-strategy=one")
    assert outcome.code == 1
    assert "nothing to compare: one names no candidate, but a gate is set" in outcome.out


def test_one_strategy_without_a_gate_is_just_measured(project):
    outcome = project.bench("--ansor-strategy=one")
    assert outcome.code == 0, outcome.text
    assert "doubling" in outcome.out


@pytest.mark.parametrize("where", ["marker", "ini"])
def test_limits_come_from_marker_and_ini_too(project, where):
    if where == "marker":
        cases = (project.root / "test_cases.py").read_text()
        project.write(
            "test_cases.py", cases.replace("trials=4", "trials=4, min_throughput_ratio=10000")
        )
    else:
        project.write("pytest.ini", "[pytest]\nansor_min_throughput_ratio = 10000\n")
    outcome = project.bench(ENOUGH)
    assert outcome.code == 1
    assert "limit 10000" in outcome.out


def test_false_alarms_are_shared_out_among_the_gates_of_the_session(project):
    project.write(
        "test_cases.py",
        (project.root / "test_cases.py").read_text()
        + "\n\n@pytest.mark.ansor_bench(trials=4, round=2, strategy='one,two')\n"
        "def test_again(ansor_bench):\n"
        "    result = ansor_bench(Doubling())\n"
        "    assert [g.family for v in result.verdicts for g in v.gates] == [4, 4]\n",
    )
    outcome = project.bench(
        "--ansor-repeats=1", "--ansor-max-search-ratio=2", "--ansor-min-throughput-ratio=0.1"
    )
    assert outcome.code == 0, outcome.text


def test_a_control_is_shown_explained_and_not_gated(project):
    outcome = project.bench(ENOUGH, BROKEN, "--ansor-control", "--ansor-json=result.json")
    assert outcome.code == 1, outcome.text
    [case] = project.json("result.json")["cases"]
    assert case["strategies"] == ["one", "two", "one-again"]
    assert case["control"] == "one-again"
    gated = [verdict for verdict in case["verdicts"] if verdict["gates"]]
    assert [v["comparison"]["candidate"]["strategy"] for v in gated] == ["two"]
    assert "control: doubling: one against itself: S " in outcome.out
    assert "control: doubling: one cut off after " in outcome.out or "never reaches" in outcome.out
