"""The judge of campaigns finds each fault that is planted; what they note outlives a kill."""

from __future__ import annotations

import dataclasses
import gzip
import json
import subprocess
import sys

import pytest

from tests.benchmarks.conftest import BENCHMARKS

READERS = """
import json, os, pickle, signal, subprocess, sys, time
from pathlib import Path
from judge import judge

file = Path(sys.argv[1])

def fine(path): path.read_text()
def told(path): return f"bad file {path}: expected a better one"
def unnamed(path): return "bad file: expected a better one"
def talkative(path): return f"bad file {path}\\nand more"
def colourful(path): return f"bad file {path}\\x1b[31m"
def breaks(path): {}["x"]
def leaves(path): sys.exit()
def crashes(path): os.kill(os.getpid(), signal.SIGSEGV)
def vanishes(path): os._exit(0)
def hangs(path): time.sleep(60)
def eats(path): b"x" * (200 << 20)
def eats_all(path): b"x" * (1 << 40)
def runs(path): exec(path.read_text())
def starts(path): subprocess.run(["true"])
def unpickles(path): pickle.loads(pickle.dumps(os.getcwd))
def plants(path): path.with_name("mark").touch()

readers = [globals()[name] for name in sys.argv[2].split(",")]
found = judge(
    [(file, read) for read in readers],
    planted=[file.with_name("mark")],
    limit_s=2.0,
    memory_mb=100.0,
)
print(json.dumps([[told.verdict, told.told] for told in found]))
"""


def judged(tmp_path, *names):
    """Verdict and words on each of some readers, in a process without threads."""
    file = tmp_path / "read.json"
    file.write_text("'planted'")
    command = [sys.executable, "-c", READERS, str(file), ",".join(names)]
    done = subprocess.run(
        command, cwd=BENCHMARKS / "faults", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_read_or_told_in_a_sentence_survives(tmp_path):
    found = judged(tmp_path, "fine", "told", "fine")
    assert [verdict for verdict, _ in found] == ["survived"] * 3
    assert found[1][1].startswith("bad file ")


FAULTS = {
    "unnamed": ("no sentence", "bad file"),
    "talkative": ("no sentence", "and more"),
    "colourful": ("no sentence", "[31m"),
    "breaks": ("traceback", "KeyError: 'x'"),
    "leaves": ("traceback", "SystemExit"),
    "crashes": ("crash", "died of SIGSEGV"),
    "vanishes": ("crash", "died of exit code 0"),
    "hangs": ("hang", "still there after 2 s"),
    "eats": ("memory", " MB: "),
    "eats_all": ("memory", "MemoryError"),
    "runs": ("code run", "exec of <string>"),
    "starts": ("code run", "subprocess.Popen"),
    "unpickles": ("code run", "pickle.find_class"),
    "plants": ("code run", "planted code"),
}


def test_each_fault_is_found_and_blamed_on_its_file(tmp_path):
    found = judged(tmp_path, *(name for fault in FAULTS for name in ("fine", fault)), "told")
    assert found[:-1:2] == [["survived", ""]] * len(FAULTS)
    assert found[-1][0] == "survived"
    for fault, (verdict, told) in zip(FAULTS, found[1::2], strict=True):
        expected, words = FAULTS[fault]
        assert verdict == expected and words in told, fault


@pytest.fixture
def ledger(import_script):
    return import_script("ledger")


def outcome(ledger, index, verdict="survived", **more):
    fields = {"campaign": "made up", "seed": 7, "what": "", "told": "", "seconds": 0.5}
    return ledger.Outcome(index=index, verdict=verdict, **{**fields, **more})


def test_a_campaign_goes_on_behind_its_last_whole_line(ledger, tmp_path):
    path = tmp_path / "new" / "ledger.jsonl"
    campaign = ledger.Ledger(path)
    for index in range(3):
        campaign.add(outcome(ledger, index))
    whole = path.read_bytes()
    for at in range(len(whole) + 1):
        path.write_bytes(whole[:at])
        again = ledger.Ledger(path)
        done = whole[:at].count(b"\n") + whole[:at].endswith(b"}")
        assert again.done == set(range(done))
        again.add(outcome(ledger, 9))
        assert ledger.Ledger(path).done == {*range(done), 9}


def test_draws_follow_from_seed_and_index_alone(ledger):
    drawn = [ledger.draws(seed, index).random() for seed in (0, 1) for index in (0, 1, 0)]
    assert drawn[0] == drawn[2] and drawn[3] == drawn[5]
    assert len(set(drawn)) == 4


def test_the_table_has_a_row_for_each_campaign(import_script, ledger):
    first = [outcome(ledger, index) for index in range(1_000)]
    again = [outcome(ledger, 3, "crash"), outcome(ledger, 4, "crash", seconds=9.0, mb=12.4)]
    other = [outcome(ledger, 0, "hang", seed=8), outcome(ledger, 1, seed=8)]
    short = outcome(ledger, 0, campaign="cut short")
    lines = import_script("table").table([*first, *again, *other, short]).splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]] == [
        ["cut short", "1", "none", "0.5 s", ""],
        ["made up", "1,002", "crash 2, hang 1", "9.0 s", "12 MB"],
    ]


def test_the_page_has_the_table_of_the_recorded_campaigns(import_script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["table.py"])
    import_script("table").main()
    page = BENCHMARKS.parent / "docs" / "research" / "faults.md"
    assert capsys.readouterr().out in page.read_text(encoding="utf-8")


def lines_of(count):
    return b"".join(b'{"kind":"a","values":[1,2.5,"x"],"n":%d}\n' % n for n in range(count))


@pytest.mark.parametrize("name", ["of_bytes", "of_lines", "of_json", "of_gzip"])
def test_damage_is_drawn_and_drawn_again_alike(import_script, ledger, name):
    mutators = import_script("mutators")
    mutate, good = getattr(mutators, name), lines_of(1 if name == "of_json" else 5)
    if name == "of_gzip":
        mutate, good = mutate(mutators.of_lines), gzip.compress(good, mtime=0)
    made = [[mutate(ledger.draws(0, index), good, good)[1] for index in range(60)] for _ in "ab"]
    assert made[0] == made[1]
    assert len(set(made[0])) > 20


def test_a_cut_journal_is_judged_by_what_is_left_of_it(import_script, tmp_path, monkeypatch):
    cuts = import_script("cuts")
    short, _ = cuts.whole_journals(tmp_path)
    assert len(short.content) <= cuts.SHORT and len(short.lines) > 5
    places = [0, 1, short.ends[0] - 1, short.ends[0], short.ends[1] + 5, len(short.content)]
    for at in places:
        assert cuts.became(short, at, tmp_path / "store")[0] == "survived"
    read = cuts.read_journal

    def forgetful(path):
        past = read(path)
        return dataclasses.replace(past, entries=past.entries[:-1])

    monkeypatch.setattr(cuts, "read_journal", forgetful)
    assert cuts.became(short, short.ends[2], tmp_path / "store")[0] == "lost"
    monkeypatch.setattr(cuts, "read_journal", lambda path: {}[path])
    verdict, told = cuts.became(short, short.ends[2], tmp_path / "store")
    assert verdict == "traceback" and "KeyError" in told
