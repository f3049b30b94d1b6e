"""What the README shows is what the code does."""

from __future__ import annotations

import re
import shlex

import pytest

from pytest_ansorbench.cli import main
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.strategies import BUILTIN
from pytest_ansorbench.workloads import CASES, NETWORKS, Operator
from tests.pages import REPOSITORY, blocks, commands, page
from tests.plugin.project import BRIEF, trials

README = page("README.md")
CASE, STRATEGY = blocks(README, "python")
TOOLCHAINS, OUTPUT = blocks(README)
_, TABLE = OUTPUT.split("\n\n")
COMMAND = next(line for line in commands(README) if "test_matmul.py" in line)
RESULTS = REPOSITORY / "docs" / "results"
RECORDED = RESULTS / "readme-example.json.gz"


def test_the_case_has_ten_lines():
    assert len(CASE.splitlines()) <= 10


@pytest.mark.usefixtures("fast_engine", "small_populations")
def test_the_case_and_the_strategy_run_by_the_command(project):
    project.write("test_matmul.py", CASE)
    project.write("conftest.py", STRATEGY)
    outcome = project.bench(
        *shlex.split(COMMAND)[2:],
        "--ansor-strategy=random,quick",
        *BRIEF,
        "--ansor-json=result.json",
    )
    assert outcome.code == 0, outcome.text
    [case] = project.json("result.json")["cases"]
    assert {run["strategy"] for run in case["runs"]} == {"random", "quick"}
    assert all(trial["status"] == "ok" for run in case["runs"] for trial in trials(run))
    assert _headings(TABLE)[0] in _headings(outcome.out)


def _headings(text: str) -> list[list[str]]:
    """Lines as words; a quick machine's search time is told in milliseconds."""
    return [line.replace("(ms)", "(s)").split() for line in text.splitlines()]


def test_its_output_is_the_recorded_one(capsys):
    words = shlex.split(COMMAND)
    main(["show", str(RECORDED), "--columns", words[words.index("--ansor-columns") + 1]])
    sentences, table = capsys.readouterr().out.rstrip().split("\n\n")[:2]
    assert [sentences.split(), table] == [OUTPUT.split("\n\n")[0].split(), TABLE.rstrip()]


def test_what_is_shown_of_two_toolchains_is_recorded(capsys):
    recorded = RESULTS / "toolchains" / "search.json.gz"
    limit = ("--max-suite-early-search-ratio", "1.1")
    columns = "case,strategy,search_time,search_ratio,search_ratio_early,throughput_ratio,verdict"
    main(["show", str(recorded), *limit, "--columns", columns])
    out = capsys.readouterr().out
    assert " ".join(TOOLCHAINS.split()) in out
    [early] = re.findall(r"S_early is (\S+ \[.+?\]):", README)
    [row] = [
        line for line in out.splitlines() if line.startswith("all cases  ") and "tvm26" in line
    ]
    assert early in re.split(r"  +", row)


def test_the_recorded_result_is_of_the_case_and_the_command():
    names: dict[str, object] = {}
    exec(CASE, names)
    result = read_result(RECORDED)
    [case] = result.cases
    assert [case.case] == [case.id for case in names["CASES"]]
    marked = {mark.name: mark for mark in names["test_matmul"].pytestmark}["ansor_bench"].kwargs
    assert {run.budget_trials for run in case.runs} == {marked["trials"]}
    assert {run.round_trials for run in case.runs} == {marked["round"]}
    gates = {gate.metric: gate.limit for verdict in case.verdicts for gate in verdict.gates}
    assert gates["search_ratio_early"] == marked["max_early_search_ratio"]
    assert gates["throughput_ratio"] == marked["min_throughput_ratio"]
    assert "--ansor-goal" not in COMMAND
    assert result.settings["goal"] == str(Goal())


def test_every_shipped_strategy_is_named():
    [line] = re.findall(r"\*\*Strategies\*\*: (.*?)\(\[what", README, re.DOTALL)
    assert re.findall(r"`([\w+-]+)`", line) == [strategy.name for strategy in BUILTIN]


def test_there_are_as_many_cases_as_are_told():
    told = re.search(r"(\d+) operators in any shape, (\d+) networks", README)
    assert told is not None
    assert int(told[1]) == len({type(case) for case in CASES if isinstance(case, Operator)})
    assert int(told[2]) == len(NETWORKS)


def test_two_commands_set_everything_up_each_on_a_line():
    environments = [
        re.findall(r"\.venv/bin/tox -e ([\w-]+)$", line)
        for line in commands(README)
        if line.startswith("python3 -m venv .venv && .venv/bin/pip install -q tox && ")
    ]
    assert environments == [["bench"], ["tests"]]
