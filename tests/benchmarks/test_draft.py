"""What `benchmarks/draft.py` reports on results that are there."""

from __future__ import annotations

import re

import pytest

from pytest_ansorbench.storage import StorageError
from tests.pages import page
from tests.recorded import RESULTS

FIGURE = r"[\d.]+ \[[\d.]+, [\d.inf]+\]"


@pytest.fixture
def script(import_script):
    return import_script("draft")


def test_the_readme_says_what_the_skeptics_experiment_comes_to(script):
    told = script.report(RESULTS / "skeptic", None, script.merged_across_commits)
    rows = dict(re.findall(r"^all cases +(\S+) +(\S.*)$", told, re.MULTILINE))
    readme = " ".join(page("README.md").split())
    sentence = readme.partition("nothing was tuned on,")[2].partition(" ([experiment]")[0]
    of_draft, of_random = sentence.split(";")
    for name, said in (("draft", of_draft), ("random-racing", of_random)):
        search, _, throughput = re.findall(FIGURE, rows[name])
        assert re.findall(FIGURE, said) == [search, throughput]


def test_results_of_other_searches_are_merged_only_if_that_is_asked_for(script):
    with pytest.raises(StorageError, match="commit is 'be0b3224"):
        script.report(RESULTS / "skeptic", None, script.merged)
