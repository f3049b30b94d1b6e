"""A case that nothing can be said of fails its test and says why, with gates or without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_ansorbench.plugin import judging
from pytest_ansorbench.plugin.refusals import cure
from pytest_ansorbench.records import Remeasurement, Run
from pytest_ansorbench.stats.failures import ArmFailures, Cause
from pytest_ansorbench.storage import write_result
from tests.plugin.project import Project
from tests.synthetic import make_case_result, make_result, make_run

OF_GATES = ("--ansor-min-throughput-ratio=0.5",)


def failure_of(text: str) -> str:
    return text.split("= FAILURES =")[1].split("= ansor bench =")[0]


@pytest.mark.parametrize(
    ("kernel", "flag", "value", "cause", "more"),
    [
        ("fine", "build-timeout", "0.001", "build-timeout (no result after 0.001 s)", 30),
        ("greedy", "memory-limit", "64", "run-error (InternalError: std::bad_alloc)", 4096),
    ],
)
def test_limits_that_nothing_can_meet_are_told_with_the_option(
    project, kernel, flag, value, cause, more
):
    project.replace("conftest.py", '("fine", "fine")', repr((kernel, kernel)))
    flag = f"--ansor-{flag}"
    outcome = project.bench(f"{flag}={value}", "--ansor-json=result.json")
    assert outcome.code == 1, outcome.text
    facts = [
        f"doubling: {arm} has no valid kernel: 4 of 4 trials {cause}" for arm in ("one", "two")
    ]
    advice = f"; {flag} is {value}: give more, e.g. {flag} {more}"
    told = "\n".join(fact + advice for fact in facts)
    assert told in failure_of(outcome.out)
    again = project.pytest("--ansor-bench", "--ansor-replay=result.json")
    assert again.code == 1
    assert told in failure_of(again.out)
    shown = project.ansor_bench("show", "result.json")
    assert shown.code == 1
    assert shown.out.startswith("\n".join(facts))


def test_instructions_that_the_cpu_lacks_are_told_with_the_target():
    illegal = Cause("run-error", 4, "worker died of SIGILL")
    target = '{"kind": "llvm", "mcpu": "diamondrapids"}'
    told = f"the CPU lacks instructions of --ansor-target {target!r}"
    assert cure(illegal, {"target": target}) == told
    assert cure(illegal, {"target": None}) == ""
    assert cure(replace(illegal, error="worker died of SIGSEGV"), {"target": target}) == ""


def test_a_cure_of_several_causes_is_told_once():
    causes = (Cause("run-error", 1, "std::bad_alloc"), Cause("build-error", 1, "MemoryError"))
    failures = ArmFailures("random", "trial", 2, causes)
    [(outcome, sentence)] = judging.of_failures("a", [failures], {"memory_limit_mb": 1})
    assert outcome == "broken"
    assert sentence.count("--ansor-memory-limit is 1: give more") == 1


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize("gates", [(), OF_GATES], ids=["ungated", "gated"])
@pytest.mark.parametrize("arms", ["one,never-right", "never-right,one"])
def test_one_arm_without_a_valid_kernel_is_enough_and_is_named(project, arms, gates):
    outcome = project.bench(f"--ansor-strategy={arms}", "--ansor-repeats=2", *gates)
    assert outcome.code == 1, outcome.text
    failure = failure_of(outcome.out)
    assert "doubling: never-right has no valid kernel: 8 of 8 trials wrong-result (" in failure
    assert "doubling: one has" not in outcome.out
    broken = "falls short of the limit 0.50: broken"
    is_gated = bool(gates) and arms.endswith("right")
    assert (broken in failure) == (f"throughput ratio = 0 [0, 0] {broken}" in failure) == is_gated


def wrong(run: Run) -> Run:
    return replace(run, final=Remeasurement(0, "wrong-result", (), "1 of 9 numbers is off"))


def saved(project: Project, spoilt: Callable[[Run], bool]) -> Project:
    """A saved case of three seeds, the winners of some runs wrong."""
    made = project.replaying("SAVED[:1]")
    arms = {
        name: [
            wrong(run) if spoilt(run) else run
            for run in (make_run("a", name, seed, final=1.0) for seed in range(3))
        ]
        for name in ("default", "fast")
    }
    reference = arms.pop("default")
    write_result(make_result(make_case_result("a", reference, arms)), made.root / "saved.json")
    return made


@pytest.mark.parametrize("strategy", ["default", "fast"])
def test_an_arm_whose_winners_are_all_wrong_fails_its_test(project, strategy):
    made = saved(project, lambda run: run.strategy == strategy)
    sentence = (
        f"a: {strategy} has no winner that is right: 3 of 3 winners wrong-result "
        "(1 of 9 numbers is off)"
    )
    outcome = made.pytest("--ansor-bench", "--ansor-replay=saved.json")
    assert outcome.code == 1, outcome.text
    assert f"\n{sentence}\n" in failure_of(outcome.out)
    (made.root / "before.json").write_bytes((made.root / "saved.json").read_bytes())
    for words in (["show"], ["report"], ["compare", "before.json"]):
        judged = made.ansor_bench(*words, "saved.json")
        assert judged.code == 1
        assert judged.out.startswith(sentence)


def test_some_wrong_winners_are_told_and_the_rest_is_judged(project):
    made = saved(project, lambda run: (run.strategy, run.seed) == ("fast", 1))
    outcome = made.pytest("--ansor-bench", "--ansor-replay=saved.json")
    assert outcome.code == 0, outcome.text
    assert (
        "warning: a: fast has lost winners, which count as throughput 0: 1 of 3 winners "
        "wrong-result (1 of 9 numbers is off)"
    ) in outcome.out.replace("\n", " ")
