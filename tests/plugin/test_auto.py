"""`--ansor-repeats auto` and `--ansor-time-limit`: searches that stop by what they saw."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("fast_engine")

CONFTEST = """
import time
from dataclasses import dataclass, replace
from tests.proposers import scripted

@dataclass(frozen=True)
class Sleeping:
    policy: object

    def start(self, setup):
        awake = self.policy.start(setup)
        propose = awake.propose

        def sleepy(trials):
            time.sleep(0.2)
            return propose(trials)

        awake.propose = sleepy
        return awake

def pytest_ansorbench_strategies(config):
    # The second round is the better one, by the latencies that the fast engine makes up.
    one = scripted(("fine", "fine"), ("slow", "slow"), name="one")
    return [
        one,
        replace(one, name="twin"),
        replace(one, name="sleeping", proposer=Sleeping(one.proposer)),
    ]
"""


@pytest.fixture
def sleepy(project):
    project.write("conftest.py", CONFTEST)
    project.replace("test_cases.py", 'repeats=1, strategy="one,two", ', "")
    # Of runs of four trials only one lead would be measured again, so S has to believe them.
    project.write("pytest.ini", "[pytest]\nansor_progress = believed\n")
    return project


def seeds(result, strategy="one"):
    return [run["seed"] for run in result["cases"][0]["runs"] if run["strategy"] == strategy]


def test_a_planted_loss_is_broken_as_soon_as_it_can_be_and_a_replay_agrees(sleepy):
    # The engine compiles equal programs once: the first arm of a cold one would pay for both.
    sleepy.bench("--ansor-strategy=one", "--ansor-repeats=1")
    gate = "--ansor-max-early-search-ratio=1.0"
    outcome = sleepy.bench(
        "--ansor-strategy=one,sleeping", "--ansor-repeats=auto:9", gate, "--ansor-json=out.json"
    )
    assert outcome.code == 1, outcome.text
    assert "exceeds the limit 1.00: broken" in outcome.out
    assert "repeats: 5 of at most 9 in 1 case, 5 in all; gates: 1 decided" in outcome.out
    result = sleepy.json("out.json")
    assert seeds(result) == list(range(5))
    assert result["cases"][0]["looks"] == "3:9"
    again = sleepy.bench("--ansor-replay=out.json", gate, "--ansor-json=again.json")
    assert again.code == 1, again.text
    assert sleepy.json("again.json")["cases"] == result["cases"]


def test_a_twin_is_not_broken_and_given_up_or_run_to_the_end(sleepy):
    outcome = sleepy.bench(
        "--ansor-strategy=one,twin", "--ansor-repeats=3:6", "--ansor-max-early-search-ratio=1.0"
    )
    assert outcome.code == 0, outcome.text
    assert "1.00: broken" not in outcome.out


def test_the_suite_asks_for_more_repeats_itself(sleepy):
    outcome = sleepy.bench(
        "--ansor-strategy=one,sleeping",
        "--ansor-repeats=auto:9",
        "--ansor-max-suite-search-ratio=1.0",
        "--ansor-json=out.json",
    )
    assert outcome.code == 1, outcome.text
    assert "1 failed, 1 passed" in outcome.out
    assert "suite of 1 case, sleeping against one: search ratio S = " in outcome.out
    result = sleepy.json("out.json")
    assert len(seeds(result)) == 5
    assert result["suites"][0]["gates"][0]["outcome"] == "broken"


def test_an_interrupted_session_comes_to_the_same_number(sleepy):
    arguments = ("--ansor-strategy=one,sleeping", "--ansor-max-early-search-ratio=1.0")
    first = sleepy.bench(*arguments, "--ansor-repeats=3")
    assert first.code == 0, first.text
    resumed = sleepy.bench(*arguments, "--ansor-repeats=auto:9", "--ansor-resume=1")
    assert resumed.code == 1, resumed.text
    assert "repeats: 5 of at most 9" in resumed.out


def test_a_time_limit_lets_each_case_have_a_repeat_and_says_what_is_open(sleepy):
    outcome = sleepy.bench(
        "--ansor-strategy=one,sleeping",
        "--ansor-repeats=auto:9",
        "--ansor-time-limit=0.3s",
        "--ansor-max-early-search-ratio=1.0",
    )
    assert outcome.code == 0, outcome.text
    assert "repeats: 1 of at most 9 in 1 case, 1 in all; gates: 1 open, for want of time" in (
        outcome.out
    )
