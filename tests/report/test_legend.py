"""The words under the table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS
from pytest_ansorbench.report.legend import legend, legend_in_brief
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import Goal
from tests.report.rendered import lines_of, rendered


def explained(*columns: str, repeats: Sequence[int] = (5,), cases: int = 2) -> str:
    words = legend(columns, criteria=Criteria(), repeats=repeats, cases=cases)
    return "\n".join(lines_of(words))


def test_the_default_table_is_explained() -> None:
    text = explained(*DEFAULT_COLUMNS)
    assert (
        "S: how many times longer the challenger takes, from 60% of the reference's gain to its end"
        in text
    )
    assert "the median over 5 seeds of the reference's best search throughput, less 1%" in text
    assert "95% interval over 5 seeds, all ratios that a permutation test does not reject" in text
    assert "bootstrap" not in text
    assert "throughput ratio: final kernels, measured again" in text
    assert "S_paper" not in text
    assert "S_trials" not in text


def test_every_form_of_s_is_told_apart() -> None:
    lines = explained(*COLUMNS).splitlines()
    for name in ("S:", "S_early:", "S_paper:", "S_trials:", "S to target:"):
        assert sum(line.startswith(name) for line in lines) == 1


def test_what_is_not_shown_is_not_explained() -> None:
    assert explained("case", "strategy", "verdict").startswith("verdict:")
    assert explained("case", "strategy", "throughput") == ""
    assert "interval" not in explained("time_to_target")


def test_cases_of_few_seeds_have_no_interval_and_others_do() -> None:
    for words in (legend, legend_in_brief):
        more = {"cases": 2} if words is legend else {}
        text = rendered(words(["search_ratio"], criteria=Criteria(), repeats=[3, 5, 5], **more))
        assert "[low, high]: 95% interval over 3 to 5 seeds" in text
        assert "; none for cases of fewer than 4 seeds" in text
    assert "none" not in explained("search_ratio", repeats=[4, 15])


def test_a_single_case_needs_no_words_on_all_cases() -> None:
    assert "all cases: the one ratio" in explained("search_ratio")
    assert "all cases" not in explained(*COLUMNS, cases=1)


def test_sums_and_means_are_told_apart() -> None:
    assert "of all runs of an arm together" in explained("trials")


def test_few_seeds_are_warned_of() -> None:
    assert "[low, high] of S_paper: 95% interval by paired bootstrap" in _of_paper(repeats=4)
    assert "below 5 seeds it covers less" in _of_paper(repeats=4)
    assert "covers less" not in _of_paper(repeats=5)


def test_a_single_target_has_its_words() -> None:
    def told(goal: str) -> str:
        criteria = Criteria(goal=Goal.parse(goal))
        return rendered(legend(["search_ratio"], criteria=criteria, repeats=[5], cases=2))

    assert "S: how many times longer the challenger takes, to 90% of the reference" in told("90%")
    assert "S: how many times longer the challenger takes, until it has 200 GFLOP/s" in told("200")


def _of_paper(repeats: int) -> str:
    return explained("search_ratio_paper", repeats=[repeats])


def test_odd_fractions_are_not_rounded() -> None:
    criteria = Criteria(tolerance=0.0125, confidence=0.999)
    text = rendered(legend(["running_time_ratio"], criteria=criteria, repeats=[2], cases=2))
    assert "less 1.25%" in text
    assert "99.9% interval" in text


def test_lines_are_short_enough_to_read() -> None:
    assert max(map(len, explained(*COLUMNS).splitlines())) < 150


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("200", "target: 200 GFLOP/s"),
        ("90%", "target: 90% of the way from the reference's first kernel to the median over "),
    ],
)
def test_another_goal_is_told(goal: str, expected: str) -> None:
    criteria = Criteria(goal=Goal.parse(goal))
    words = legend(["time_to_target"], criteria=criteria, repeats=[5], cases=2)
    assert any(line.startswith(expected) for line in lines_of(words))
