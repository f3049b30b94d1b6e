"""Cases in pytest-benchmark's tables and files, and benches with that plugin switched off."""

from __future__ import annotations

import subprocess
import sys

import pytest

REPLAY = ("--ansor-replay=saved.json", "--ansor-max-early-search-ratio=0.9")


def test_each_case_and_strategy_is_a_benchmark_with_search_seconds(everything):
    outcome = everything.bench(*REPLAY, "--benchmark-json=benchmark.json")
    assert outcome.code == 0, outcome.text
    benchmarks = everything.json("benchmark.json")["benchmarks"]
    assert [benchmark["fullname"] for benchmark in benchmarks] == [
        f"test_cases.py::test_case[{case}-{strategy}]"
        for case in "abc"
        for strategy in ("default", "fast")
    ]
    reference, fast = benchmarks[:2]
    assert reference["group"] == fast["group"] == "a"
    assert reference["stats"]["data"] == [4.0] * 5
    assert fast["stats"]["mean"] == 2.0
    assert fast["params"] == {"case": "a", "strategy": "fast"}
    assert reference["extra_info"] == {
        "case": "a",
        "strategy": "default",
        "trials": 20,
        "failed_trials": 0,
        "kernel_latency_s": 1.0,
        "gflops": 1.0,
    }
    assert fast["extra_info"]["search_ratio"]["value"] == 0.5
    assert fast["extra_info"]["throughput_ratio"]["bound"] == "value"
    assert fast["extra_info"]["verdict"] == "holds"


def test_its_table_is_shown_when_asked_for_and_grouped_by_case(everything):
    assert "benchmark 'a'" not in everything.bench(*REPLAY).out
    outcome = everything.bench(*REPLAY, "--ansor-benchmark-table")
    assert "benchmark 'a': 2 tests" in outcome.out
    assert "test_case[a-fast]" in outcome.out


def test_benchmarks_of_others_are_shown_and_ours_with_them(everything):
    everything.write("test_plain.py", "def test_sum(benchmark): benchmark(sum, [1, 2])\n")
    outcome = everything.bench(*REPLAY)
    assert "test_sum" in outcome.out and "test_case[a-fast]" in outcome.out


def test_its_own_compare_works_on_them(everything):
    assert everything.bench(*REPLAY, "--benchmark-save=main").code == 0
    outcome = everything.bench(*REPLAY, "--benchmark-compare", "--benchmark-compare-fail=mean:5%")
    assert outcome.code == 0, outcome.text
    assert "(NOW)" in outcome.out
    compared = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", "compare", "0001"],
        cwd=everything.root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert compared.returncode == 0, compared.stderr
    assert "test_case[a-fast]" in compared.stdout + compared.stderr


def test_a_test_without_parameters_is_named_by_its_case(everything):
    everything.write(
        "test_cases.py",
        "from tests.saved_cases import SAVED\ndef test_plain(ansor_bench): ansor_bench(SAVED[0])\n",
    )
    everything.bench(*REPLAY, "--benchmark-json=benchmark.json")
    benchmarks = everything.json("benchmark.json")["benchmarks"]
    assert [benchmark["name"] for benchmark in benchmarks] == [
        "test_plain[a-default]",
        "test_plain[a-fast]",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--benchmark-disable"],
        ["--benchmark-skip"],
        ["-p", "no:benchmark"],
        ["-p", "no:pytest-benchmark"],
        ["-p", "no:benchmark", "-p", "impostor"],
    ],
)
def test_a_bench_works_where_it_is_disabled_blocked_or_impersonated(everything, arguments):
    everything.write(
        "impostor.py",
        "def pytest_configure(config):\n"
        "    config.pluginmanager.register(object(), 'pytest-benchmark')\n",
    )
    outcome = everything.bench(*REPLAY, *arguments, PYTHONPATH=str(everything.root))
    assert outcome.code == 0, outcome.text
    assert "3 passed" in outcome.out
    assert "benchmark 'a'" not in outcome.out
    assert "ansor bench" in outcome.out


OTHERS = """
def test_sum(benchmark):
    benchmark.pedantic(sum, ([1, 2],))

def test_else():
    pass
"""


@pytest.mark.parametrize(
    ("option", "counts"),
    [
        ("--benchmark-only", "5 passed, 1 skipped"),  # three cases, their suite, and a benchmark
        ("--benchmark-skip", "5 passed, 1 skipped"),
        ("--benchmark-disable", "6 passed"),
        ("--benchmark-enable", "6 passed"),
    ],
)
def test_its_options_say_nothing_of_tuning_cases_and_their_gates(everything, option, counts):
    everything.write("test_plain.py", OTHERS)
    suite = "--ansor-max-suite-search-ratio"
    outcome = everything.bench(*REPLAY, f"{suite}=0.9", option)
    assert outcome.code == 0, outcome.text
    assert counts in outcome.out
    assert everything.bench(*REPLAY, f"{suite}=0.1", option).code == 1


def test_benchmark_only_counts_where_it_was_kept_from_being_a_plugin(everything):
    everything.write("test_plain.py", OTHERS)
    outcome = everything.bench(*REPLAY, "--benchmark-only", "-p", "no:pytest-benchmark")
    assert outcome.code == 0, outcome.text
    assert "4 passed, 1 skipped" in outcome.out


def test_a_case_beside_its_fixture_passes(everything):
    everything.write(
        "test_cases.py",
        "from tests.saved_cases import SAVED\n"
        "def test_both(ansor_bench, benchmark):\n"
        "    ansor_bench(SAVED[0])\n"
        "    benchmark.pedantic(sum, ([1, 2],))\n",
    )
    outcome = everything.bench(*REPLAY)
    assert outcome.code == 0, outcome.text
    assert "1 passed" in outcome.out
