"""Bad input is one clear line and pytest's exit code for usage errors, before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--ansor-strategy=one,tow", "bad strategy 'tow': expected one of default, etc, rules,"),
        ("--ansor-strategy=one,one", "bad --ansor-strategy 'one,one': expected different names"),
        ("--ansor-case=tripling", "bad --ansor-case 'tripling': expected the id of a collected"),
        ("--ansor-columns=case,foo", "bad column 'foo': expected some of case, strategy"),
        ("--ansor-sort=foo", "'foo': expected"),
        ("--ansor-trials=0", "bad --ansor-trials '0': expected a whole number of at least 1"),
        ("--ansor-trials=1", "bad --ansor-trials 1: expected at least a round of 2"),
        ("--ansor-run-time=0s", "bad --ansor-run-time '0s': expected a duration above 0, e.g. 45m"),
        ("--ansor-run-time=soon", "bad --ansor-run-time 'soon': expected a duration above 0"),
        ("--ansor-run-time=inf", "bad --ansor-run-time 'inf': expected a duration above 0"),
        ("--ansor-time-limit=3d", "bad --ansor-time-limit '3d': expected a duration above 0, e.g."),
        ("--ansor-noise-check=-1", "bad --ansor-noise-check '-1': expected a number from 0 up"),
        ("--ansor-repeats=-1", "bad --ansor-repeats '-1': expected a number of repeats such as 5"),
        ("--ansor-check=some", "'some': expected one of winners, all"),
        ("--ansor-max-early-search-ratio=0", "'0': expected a ratio from 1e-6 to 1e6"),
        (
            "--ansor-target=hexagon",
            "bad --ansor-target 'hexagon': only CPUs and CUDA can be measured so far",
        ),
        ('--ansor-target={"kind"', "expected an LLVM or CUDA target"),
        ("--ansor-save=newest", "bad --ansor-save: bad name 'newest': expected some words other"),
        ("--ansor-json=.", "bad --ansor-json '.': expected a file, not a folder"),
        ("--ansor-json=test_cases.py/x.json", "x.json': nothing can be written to '"),
        ("--ansor-report=pdf", "bad --ansor-report ['pdf']: expected one of terminal, markdown"),
        ("--ansor-report=csv:.", "bad --ansor-report '.': expected a file, not a folder"),
        ("--ansor-cores=0,100000", "bad --ansor-cores '0,100000'"),
        ("--ansor-time-unit=min", "bad time unit 'min': expected one of auto, s, ms, us"),
        (
            "--ansor-reference-kernels=torch,mkl",
            "bad --ansor-reference-kernels 'torch,mkl': expected some of torch, torch-compile, "
            "onnxruntime, openvino, numpy, untuned, first, e.g. torch,onnxruntime",
        ),
        (
            "--ansor-min-over-onnxruntime=1.0",
            "bad --ansor-min-over-onnxruntime: expected onnxruntime among --ansor-reference-ker",
        ),
    ],
)
def test_bad_values_are_named_and_a_good_one_is_shown(project, argument, message):
    assert message in project.bench(argument).refusal


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ("trails=4", "bad marker keyword 'trails': expected some of strategy, trials"),
        ("goal='90%'", "bad marker keyword 'goal': expected some of strategy, trials"),
        ("trials='x'", "bad marker keyword trials 'x': expected a whole number"),
        ("trials=True", "expected a whole number"),
        ("run_time='-1s'", "bad marker keyword run_time '-1s': expected a duration above 0"),
        ("64", "bad marker argument 64: expected keywords"),
        ("strategy='nobody'", "bad strategy 'nobody'"),
    ],
)
def test_bad_markers_name_their_test(project, keywords, message):
    project.write(
        "test_cases.py",
        "import pytest\nfrom tests.faults import Doubling\n"
        f"@pytest.mark.ansor_bench({keywords})\n"
        "def test_doubling(ansor_bench): ansor_bench(Doubling())\n",
    )
    line = project.bench().refusal
    assert message in line
    assert line.startswith("test_cases.py::test_doubling: ")


def test_a_bad_marker_of_a_module_is_told_where_a_test_has_its_own(project):
    cases = (project.root / "test_cases.py").read_text()
    project.write("test_cases.py", f"{cases}\npytestmark = pytest.mark.ansor_bench(64)\n")
    assert "bad marker argument 64: expected keywords" in project.bench().refusal


def test_bad_ini_values_are_named(project):
    project.write("pytest.ini", "[pytest]\nansor_repeats = none\n")
    assert "bad ini option ansor_repeats 'none': expected" in project.bench().refusal


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["-n", "2"], "-n"),
        (["--tx", "2*popen", "--dist", "load"], "--tx"),
        (["--tx", "popen", "--tx", "1*popen//python=python3", "--dist", "load"], "--tx"),
        (["--tx", "2*ssh=a", "--dist", "load"], "--tx"),
    ],
)
def test_live_searches_refuse_to_share_the_machine(project, words, flag):
    assert f"bad option {flag}: live searches cannot share" in project.bench(*words).refusal


@pytest.mark.parametrize(
    "words", [["-n", "0"], ["-n", "1"], ["--dist", "load", "--tx", "ssh=a", "--tx", "ssh=b"]]
)
def test_one_process_shares_the_machine_with_none(project, words):
    assert project.bench(*words, "--collect-only").code == 0


def test_kernels_are_made_again_by_one_process(project):
    words = ("--ansor-kernels=saved.json", "-n", "1")
    assert "bad option -n: kernels are made again by one process" in project.bench(*words).refusal


def test_a_strategy_registered_twice_is_refused(project):
    project.replace("conftest.py", 'name="two"', 'name="one"')
    assert "bad strategy name 'one': it is taken" in project.bench().refusal


def fake_distribution(folder: Path, name: str, version: str) -> str:
    """Metadata of a package, as an installer leaves it, to be found before the real one's."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return str(folder)


def test_a_crashing_pair_of_tvm_and_ffi_is_refused_with_the_cure(project, tmp_path):
    path = fake_distribution(tmp_path / "site", "apache-tvm-ffi", "0.1.15.post2")
    line = project.bench(PYTHONPATH=path).refusal
    assert "apache-tvm-ffi 0.1.15.post2 does not work with apache-tvm 0.27" in line
    assert "pip install 'apache-tvm==0.27.*' 'apache-tvm-ffi" in line


def test_a_missing_xgboost_is_refused_with_the_cure(project, monkeypatch):
    monkeypatch.delitem(sys.modules, "xgboost", raising=False)
    project.write("xgboost.py", "raise ImportError('planted')\n")
    line = project.bench(PYTHONPATH=str(project.root)).refusal
    assert "cannot import xgboost (ImportError: planted): pip install xgboost" in line


def test_no_compiler_is_needed(project, tmp_path):
    # An empty folder in place of PATH: the interpreter itself is started by its full path.
    (tmp_path / "empty").mkdir()
    assert Path(sys.executable).is_absolute()
    outcome = project.bench(PATH=str(tmp_path / "empty"))
    assert outcome.code == 0, outcome.text
