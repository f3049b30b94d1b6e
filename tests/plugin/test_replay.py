"""`--ansor-replay`: the same table and verdicts from saved runs, without a tuner."""

from __future__ import annotations

import re

import pytest

from pytest_ansorbench.storage import read_result, save_numbered, write_result
from tests.saved_cases import SAVED, result_of

NO_TVM = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tvm", "tvm_ffi", "xgboost"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Refuse())
"""


def table(text):
    return re.search(r"=+ ansor bench =+\n+.*?\n\n(.*?)\n\n", text, re.DOTALL)[1]


@pytest.mark.usefixtures("fast_engine")
def test_a_replay_gives_the_table_of_the_session_that_was_saved(project):
    live = project.bench("--ansor-repeats=2", "--ansor-json=saved.json")
    assert live.code == 0, live.text
    again = project.bench("--ansor-replay=saved.json", "--ansor-json=again.json")
    assert again.code == 0, again.text
    assert table(again.out) == table(live.out)
    assert project.json("again.json")["cases"] == project.json("saved.json")["cases"]
    assert len([*project.journal().parent.iterdir()]) == 1


def test_it_needs_no_tvm(everything):
    everything.write("conftest.py", NO_TVM)
    good = everything.bench_apart("--ansor-replay=saved.json", "--ansor-max-early-search-ratio=0.9")
    assert good.code == 0, good.text
    assert "3 passed" in good.out


def test_compressed_results_are_read_and_written(everything):
    saved = read_result(everything.root / "saved.json")
    (everything.root / "saved.json").unlink()
    write_result(saved, everything.root / ".ansor_bench" / "0001_main.json.gz")
    outcome = everything.bench(
        "--ansor-replay=.ansor_bench/0001_main.json.gz",
        "--ansor-max-early-search-ratio=0.9",
        "--ansor-compare=main",
        "--ansor-json=out.json.gz",
    )
    assert outcome.code == 0, outcome.text
    assert outcome.out.count("throughput_ratio  ") == 4
    assert (everything.root / "out.json.gz").read_bytes().startswith(b"\x1f\x8b")
    written = read_result(everything.root / "out.json.gz").cases
    assert [case.runs for case in written] == [case.runs for case in saved.cases]


def test_several_files_are_put_together(everything):
    write_result(result_of(SAVED[:1]), everything.root / "one.json")
    write_result(result_of(SAVED[1:]), everything.root / "two.json")
    outcome = everything.bench("--ansor-replay=one.json", "--ansor-replay=two.json")
    assert outcome.code == 0, outcome.text
    assert "3 passed" in outcome.out
    outcome = everything.bench("--ansor-replay=one.json", "--ansor-replay=saved.json")
    assert "both have the run of default on a with seed 0; they cannot be merged" in outcome.refusal
    everything.write("pytest.ini", "[pytest]\nansor_replay =\n    one.json\n    two.json\n")
    outcome = everything.bench()
    assert "3 passed" in outcome.out, outcome.text


@pytest.mark.parametrize(
    ("reads", "output"),
    [
        ("replay=saved.json", "json=link.json"),
        ("replay=saved.json", "report=csv:link.json"),
        ("compare=saved.json", "json=link.json"),
        ("compare=main", "json=.ansor_bench/0001_main.json"),
        ("reference=saved.json", "json=link.json"),
        ("kernels=saved.json", "json=link.json"),
    ],
)
def test_no_result_that_is_read_is_written_over(saved, reads, output):
    save_numbered(result_of(SAVED[:1]), saved.root / ".ansor_bench", "main")
    (saved.root / "link.json").symlink_to("saved.json")
    refusal = saved.bench(f"--ansor-{reads}", f"--ansor-{output}").refusal
    assert f"bad --ansor-{output.partition('=')[0]} '" in refusal
    assert ".json': it is read; expected another file, e.g. new-" in refusal


def test_what_is_missing_is_refused(everything):
    everything.replaying("MORE")
    outcome = everything.bench("--ansor-replay=saved.json")
    assert outcome.code == 1
    assert "no saved runs of the case 'd'; there are those of a, b, c" in outcome.out
    assert "1 failed, 3 passed" in outcome.out
    outcome = everything.bench("--ansor-replay=saved.json", "--ansor-strategy=default,other")
    assert outcome.code == 1
    assert "no saved runs of the strategy 'other' on a; there are those of default, fast" in (
        outcome.out
    )


def test_a_file_that_is_not_there_is_told(everything):
    outcome = everything.bench("--ansor-replay=nowhere.json")
    assert "bad result file 'nowhere.json': expected an existing file" in outcome.refusal
