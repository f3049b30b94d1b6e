"""`--ansor-reference`: the reference's runs of an earlier result are used again."""

from __future__ import annotations

import json

import pytest

from pytest_ansorbench.bench import repeat
from pytest_ansorbench.storage import fingerprint

REFERENCE = "--ansor-reference=saved.json"


@pytest.fixture
def benched(searched, tmp_path, monkeypatch):
    """A project with the result of a bench of its case."""
    # Rounds of milliseconds never take as long twice.
    monkeypatch.setattr(repeat, "MOST_DRIFT", 1e9)
    return searched.copy(tmp_path)


def test_only_the_challenger_is_run_and_the_table_says_so(benched):
    outcome = benched.bench(REFERENCE, "--ansor-json=again.json")
    assert outcome.code == 0, outcome.text
    assert "1 of 1 run of one are of 20" in outcome.out
    [case] = benched.json("again.json")["cases"]
    one, two = case["runs"]
    assert one["recorded"]["first_round_s"] > 0 and two["recorded"] is None
    then = benched.json("saved.json")["cases"][0]["runs"][0]
    assert one["trials"] == then["trials"] and one["final"] != then["final"]
    shown = benched.ansor_bench("show", "again.json")
    assert shown.code == 0 and "their first rounds, run again, took" in shown.out


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (lambda saved: None, ["--ansor-reference=none.json"], "bad --ansor-reference"),
        (
            lambda saved: None,
            ["--ansor-learn=own"],
            "bad --ansor-reference: what --ansor-learn has learnt since",
        ),
        (lambda saved: None, ["--ansor-check=all"], "measured with check 'winners'"),
        (
            lambda saved: [m.update(cpu="abacus") for m in saved["machines"].values()],
            [],
            "measured on another machine (cpu: abacus is now",
        ),
    ],
)
def test_what_cannot_stand_in_is_refused_before_anything_runs(benched, change, words, message):
    saved = benched.json("saved.json")
    change(saved)
    machine = json.dumps(saved)
    if "abacus" in machine:
        [(old, described)] = saved["machines"].items()
        machine = machine.replace(old, fingerprint(described))
    benched.write("saved.json", machine)
    assert message in benched.bench(REFERENCE, *words).refusal


@pytest.mark.usefixtures("fast_engine")
def test_a_case_that_changed_is_run_anew_with_the_reason(benched):
    outcome = benched.bench(REFERENCE, "--ansor-trials=2", "--ansor-json=again.json")
    assert outcome.code == 0, outcome.text
    assert "its reference is run anew: its runs have 4 trials in rounds of 2" in outcome.out
    assert benched.json("again.json")["cases"][0]["runs"][0]["recorded"] is None
