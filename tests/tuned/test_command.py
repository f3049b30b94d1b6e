"""`ansor-bench tune`: what it writes, how it goes on, what it refuses."""

from __future__ import annotations

import gzip
import importlib
import math
import os
import re
import runpy
import shutil

import numpy as np
import pytest

import pytest_ansorbench
from pytest_ansorbench.cli import main
from pytest_ansorbench.cli import tune as command
from pytest_ansorbench.measure.local import toolchains
from pytest_ansorbench.measure.outcomes import AfterSet
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.remote.settings import DeviceAddress, RemoteSettings
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import ReferenceKernel, Remeasurement
from pytest_ansorbench.storage import StorageError, list_journals, read_result
from pytest_ansorbench.storage.entries import CaseEntry, EndEntry
from pytest_ansorbench.tuning.compiled import Compiled, check_linker
from pytest_ansorbench.winners import replace_database
from pytest_ansorbench.workloads import BatchMatmul, Mlp, from_onnx
from tests import onnx_models
from tests.bench.test_session import Interrupted
from tests.disks import files_of_at_most, read_only
from tests.fast_engine import FastEngine, InProcess
from tests.forked import printed_by
from tests.inference import infer
from tests.paced import PacedEngine
from tests.pages import page

fast = pytest.mark.usefixtures("fast_engine")
PRODUCT = BatchMatmul(batch=1, m=16, n=16, k=16)
NETWORK = Mlp(features=8, hidden=(4,), classes=2)
DATABASE = {"database_workload.json", "database_tuning_record.json"}
WHOLE = {*DATABASE, "library.so", "load.py", "report.md", "result.json.gz", "command.txt"}


@fast
def test_an_operator_becomes_a_database_a_library_and_a_report(place, capsys):
    assert place.quickly("models:product", "--trials", "4") == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{PRODUCT.id}: ") and "; 4 trials of random in " in out
    assert f"{PRODUCT.id}  random  trial 4, 100%  best " in err and err.endswith("compiling\n")
    assert not {"\r", "\x1b"} & {*out, *err}
    assert place.files() == WHOLE
    words = "ansor-bench tune models:product -o out --trials 4 --strategy random"
    assert (place.out / "command.txt").read_text() == f"{words} --rewrite fast-math\n"
    report = (place.out / "report.md").read_text()
    assert report.startswith(f"{PRODUCT.id}: ") and words in report
    [of_case] = read_result(place.out / "result.json.gz").cases
    assert (of_case.case, len(of_case.runs[0].trials)) == (PRODUCT.id, 4)
    [task] = PRODUCT.tasks()
    assert place.database().has_workload(task.mod) and len(place.database()) == 1
    _check_that_the_script_runs_without_this_package(place)


@fast
def test_a_strategy_of_ones_own_searches(place, capsys):
    """By the command and from Python; the page's own example."""
    place.root.joinpath("climbing.py").write_text(page("docs/climbing.py"))
    words = ("models:product", "--trials", "4", "--strategy")
    assert place.tune(*words, "climbing:CLIMB") == 0
    assert "; 4 trials of climb in " in capsys.readouterr().out
    climb = importlib.import_module("climbing").CLIMB
    assert pytest_ansorbench.tune(PRODUCT, trials=2, strategy=climb).trials == 2
    assert place.tune(*words, "climbing:NONE") == 2
    assert "bad --strategy 'climbing:NONE': AttributeError" in capsys.readouterr().err


def _check_that_the_script_runs_without_this_package(place):
    moved = place.root / "elsewhere"
    shutil.copytree(place.out, moved)
    script = (moved / "load.py").read_text()
    assert "pytest_ansorbench" not in script and len(script.splitlines()) <= 19
    code = f"import runpy; runpy.run_path({str(moved / 'load.py')!r}, run_name='__main__')"
    alone = (
        "import sys; assert not [one for one in sys.modules if one.startswith('pytest_ansorbench')]"
    )
    assert "0. 0. 0." in printed_by(f"{code}\n{alone}", cwd=place.root.parent)


@fast
def test_the_library_of_a_network_computes_what_the_network_does(place, monkeypatch, capsys):
    monkeypatch.setattr("pytest_ansorbench.tuning.tuning.was_faster", lambda _: False)
    assert place.quickly("models:network", "--trials", "2/task") == 0
    assert place.files() == {*WHOLE, "weights.npz"}
    taken = f"{NETWORK.id}: taken as it is; --rewrite is for a model's file or module\n"
    assert capsys.readouterr().err.startswith(taken)
    [entry] = place.past().of(CaseEntry)
    assert entry.conditions["scheduler"] == "balanced" and len(entry.tasks) > 1
    data, *weights = NETWORK.arguments()
    run = runpy.run_path(str(place.out / "load.py"))["run"]
    expected = infer(NETWORK.program(), (data, *weights))
    np.testing.assert_allclose(run(data).numpy(), expected, rtol=1e-3, atol=1e-5)
    assert "share" in (place.out / "report.md").read_text()


@fast
@pytest.mark.parametrize(
    ("words", "name", "before"),
    [
        ([], "packed_matmul", " ms untuned, rewritten: "),
        (["--rewrite", "none"], "matmul", " ms untuned: "),
    ],
)
def test_a_model_is_rewritten_as_asked(place, capsys, words, name, before):
    assert place.quickly("models:dense", "--trials", "1", *words) == 0
    assert before in capsys.readouterr().out and before in (place.out / "report.md").read_text()
    [entry] = place.past().of(CaseEntry)
    assert [task.name for task in entry.tasks] == [name]
    assert "(*inputs):  # x float32 (4, 8); gives" in (place.out / "load.py").read_text()
    run = runpy.run_path(str(place.out / "load.py"))["run"]
    np.testing.assert_array_equal(run(np.ones((4, 8), np.float32)).numpy(), np.full((4, 16), 8.0))


@fast
def test_the_name_of_a_models_file_may_be_no_text(place):
    values = {"x": ("FLOAT", [4, 8])}, {"y": ("FLOAT", [4, 16])}
    matrix, product = np.ones((8, 16), np.float32), [("MatMul", ["x", "matrix"], ["y"], {})]
    path = onnx_models.write(place.root / "small.onnx", product, *values, {"matrix": matrix})
    name = os.fsdecode(b"mod\xe9l.onnx")
    path.rename(place.root / name)
    assert place.quickly(name, "--trials", "1", "--rewrite", "none") == 0
    assert place.files() == {*WHOLE, "weights.npz"}
    assert b"tune 'mod\xe9l.onnx' -o out" in (place.out / "command.txt").read_bytes()
    assert from_onnx(name).arguments()[0].shape == (4, 8)


@fast
def test_a_second_call_goes_on_with_more_trials(place):
    assert place.quickly("models:product", "--trials", "2") == 0
    first = place.trials()
    assert place.quickly("models:product", "--trials", "6") == 0
    trials = place.trials()
    assert (len(first), len(trials)) == (2, 6) and trials[:2] == first
    assert len(place.finals()) == 2


@fast
def test_a_stopped_call_with_more_trials_costs_no_result(place, monkeypatch):
    assert place.quickly("models:product", "--trials", "2") == 0
    with monkeypatch.context() as patch:
        patch.setattr(command, "_progress", lambda: Interrupted(1))
        assert place.quickly("models:product", "--trials", "6") == 3
    assert place.quickly("models:product", "--trials", "6", "--seed", "1") == 0
    assert {final.seed for final in place.finals()} == {0, 1}
    best_s = min(final.finals[0].latency_s for final in place.finals())
    assert result_s(place) == best_s
    [record] = place.database().get_all_tuning_records()
    assert [float(seconds) for seconds in record.run_secs] == [best_s]


@fast
def test_of_calls_that_go_on_the_fastest_stays_and_no_other(place):
    best_s = math.inf
    for trials in ("2", "3", "4", "5"):
        assert place.quickly("models:product", "--trials", trials) == 0
        best_s = min(best_s, place.finals()[-1].finals[0].latency_s)
        assert result_s(place) == best_s
    assert len(place.finals()) == 2 and len(place.trials()) == 5


def result_s(place):
    """What the result says of the only case."""
    [of_case] = read_result(place.out / "result.json.gz").cases
    return of_case.runs[0].final.latency_s


@fast
def test_the_fastest_kernel_of_all_calls_stays(place, monkeypatch, capsys):
    """The third call asks for the first one's search again: whichever is slower comes last once."""
    compiled, compile_case = [], Compiled.of
    monkeypatch.setattr("pytest_ansorbench.tuning.tuning.was_faster", lambda _: False)
    monkeypatch.setattr(Compiled, "of", lambda *of: compiled.append(of[1]) or compile_case(*of))
    first, second = ("--trials", "4"), ("--trials", "3", "--seed", "1")
    assert place.quickly("models:product", *first) == 0
    for words in (second, first):
        assert place.quickly("models:product", *words) == 0
        finals = place.finals()
        best_s = min(final.finals[0].latency_s for final in finals)
        assert {final.seed for final in finals} == {0, 1} and len(place.trials()) == 7
        [record] = place.database().get_all_tuning_records()
        assert [float(seconds) for seconds in record.run_secs] == [best_s]
        assert f": {1e3 * best_s:.4g} ms, " in (place.out / "report.md").read_text()
        kernel = InProcess(None, Program.operator(compiled[-1][0]), None)
        assert kernel.first_call() == best_s
    assert capsys.readouterr().err.count(" has found in an earlier call stays, ") == 1


@fast
def test_the_fastest_network_stays_however_its_trials_found_the_caches(place, monkeypatch):
    words, time = ("models:dense", "--trials", "2", "--rewrite", "none"), InProcess.time
    assert place.quickly(*words, "--caches", "warm") == 0
    first_s = result_s(place)
    monkeypatch.setattr(InProcess, "time", lambda *of: tuple(s + 1e-3 for s in time(*of)))
    assert place.quickly(*words, "--seed", "1") == 0
    assert len(place.finals()) == 2 and result_s(place) == first_s


@fast
def test_smaller_rounds_of_an_earlier_call_end_no_search(place):
    """TVM's random search counts each round as a whole one of the present size."""
    assert place.quickly("models:product", "--trials", "3", "--round", "1") == 0
    assert place.quickly("models:product", "--trials", "6", "--round", "3") == 0
    assert len(place.trials()) == 6


@fast
def test_libraries_take_turns_with_the_result_in_a_second_call_too(place, capsys, monkeypatch):
    """Though it seems slower in that: it is the same kernel."""
    assert place.quickly("models:product", "--trials", "4") == 0
    first = place.trials()
    capsys.readouterr()
    time = InProcess.time
    monkeypatch.setattr(InProcess, "time", lambda *of: tuple(s + 1e-9 for s in time(*of)))
    assert place.quickly("models:product", "--trials", "4", "--against", "numpy") == 0
    assert place.trials() == first
    [_, final] = place.finals()
    assert [peer.implementation for peer in final.peers] == ["numpy"]
    told = f"ms in numpy {np.__version__}: "
    assert told in capsys.readouterr().out
    report = (place.out / "report.md").read_text()
    assert told in report and "--against numpy" in report


@fast
def test_the_same_call_again_measures_nothing(place, monkeypatch):
    assert place.quickly("models:product", "--trials", "4") == 0
    before = place.past().entries
    monkeypatch.setattr("tests.fast_engine.FastEngine.start", lambda self: 1 / 0)
    assert place.quickly("models:product", "--trials", "4") == 0
    assert place.past().entries == before and isinstance(before[-1], EndEntry)


@fast
def test_killed_after_any_line_the_same_call_goes_on(place):
    assert place.quickly("models:product", "--trials", "4", "--round", "2") == 0
    whole = place.past().entries
    [journal] = list_journals(place.out)
    lines = gzip.decompress(journal.read_bytes()).splitlines(keepends=True)
    assert len(lines) == 1 + len(whole) == 10
    for kept in (1, 8):
        shutil.rmtree(place.out)
        journal.parent.mkdir(parents=True)
        journal.with_suffix("").write_bytes(b"".join(lines[:kept]) + b'{"kind":"ro')
        assert place.quickly("models:product", "--trials", "4", "--round", "2") == 0
        newest = list_journals(place.out)[-1]
        again = gzip.decompress(newest.read_bytes()).splitlines(keepends=True)
        assert again[1:kept] == lines[1:kept] and len(again) == len(lines)
        assert place.files() == WHOLE


@fast
def test_what_a_killed_call_has_left_is_removed(place):
    assert place.quickly("models:product", "--trials", "2") == 0
    folder = place.out / ".database-left"
    folder.mkdir()
    learnt = place.out / "learnt"
    learnt.mkdir()
    unfinished = (where / f".{'0' * 32}.tmp" for where in (place.out, learnt))
    left = (folder / "records", *unfinished, place.out / ".mine")
    for path in left:
        path.touch()
    assert place.quickly("models:product", "--trials", "4") == 0
    assert [path.exists() for path in (folder, *left)] == [False] * 4 + [True]


@fast
def test_other_models_leave_what_is_there(place):
    assert place.quickly("models:product", "--trials", "2") == 0
    assert place.quickly("models:another", "--trials", "2") == 0
    begun = [entry.case for entry in place.past().of(CaseEntry)]
    assert len(begun) == 2 and begun[0] == PRODUCT.id
    assert len(place.database()) == 2
    assert place.quickly("models:product", "--trials", "3") == 0
    assert len(place.trials()) == 5 and len(place.database()) == 2


@fast
def test_several_models_have_a_library_each(place, capsys):
    assert place.quickly("models:product", "models:another", "--trials", "2") == 0
    libraries = {name for name in place.files() if name.endswith(".so")}
    assert len(libraries) == 2 and f"library-{PRODUCT.id}.so" in libraries
    assert len(capsys.readouterr().out.splitlines()) == 3


@fast
def test_what_was_measured_otherwise_is_kept_and_begun_anew(place):
    assert place.quickly("models:product", "--trials", "2") == 0
    assert place.quickly("models:product", "--trials", "2", "--caches", "cold") == 0
    labels = [entry.label for entry in place.past().of(CaseEntry)]
    assert sorted(labels) == [PRODUCT.id, f"{PRODUCT.id}#2"]
    assert len(place.trials()) == 4


@fast
def test_an_operator_goes_on_in_a_call_with_a_network(place):
    words = ("--trials", "2", "--rewrite", "none")
    assert place.quickly("models:product", *words) == 0
    first = place.trials()
    assert place.quickly("models:product", "models:dense", *words) == 0
    begun = place.past().of(CaseEntry)
    found = {entry.label: entry.conditions["caches"] for entry in begun}
    assert found == {PRODUCT.id: "warm", "dense": "network"}
    assert place.trials()[:2] == first and len(place.trials()) == 4


def test_a_time_limit_is_of_one_call(place, target, monkeypatch):
    for trials in (4, 8):
        engine = PacedEngine(target, 0.5, monkeypatch)
        monkeypatch.setattr(toolchains, "local_engine", lambda *_, made=engine: made)
        assert place.quickly("models:product", "--time-limit", "2s") == 0
        assert len(place.trials()) == trials


@pytest.mark.parametrize(("limit", "trials"), [("2s", 4), ("1s", 6)])
def test_a_call_that_has_not_written_keeps_its_time_limit(
    place, target, monkeypatch, limit, trials
):
    """With the same limit it has searched enough; another limit is another call's."""

    def tuned(limit):
        engine = PacedEngine(target, 0.5, monkeypatch)
        monkeypatch.setattr(toolchains, "local_engine", lambda *_: engine)
        return place.quickly("models:product", "--time-limit", limit)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Compiled, "of", interrupted)
        assert tuned("2s") == 3
    assert len(place.trials()) == 4
    assert tuned(limit) == 0 and len(place.trials()) == trials


@fast
def test_a_full_disk_is_told_and_costs_nothing_that_was_measured(place, capsys):
    words = ("models:product", "--trials", "4", "--round", "2")
    assert place.quickly(*words) == 0
    [journal] = list_journals(place.out)
    lines = gzip.decompress(journal.read_bytes()).splitlines(keepends=True)
    shutil.rmtree(place.out)
    capsys.readouterr()
    # Room for session, case, baselines, repeat and a round, and for half of the next one.
    with files_of_at_most(sum(map(len, lines[:5])) + len(lines[5]) // 2):
        assert place.quickly(*words) == 2
    assert "expected a place to write to, got 'File too large'; check" in capsys.readouterr().err
    done = place.trials()
    assert len(done) == 2
    assert place.quickly(*words) == 0
    assert place.trials()[:2] == done and len(place.trials()) == 4


@fast
def test_why_a_folder_cannot_be_written_is_told(place, capsys):
    words = ("models:product", "--trials", "2")
    assert place.quickly(*words) == 0
    with files_of_at_most(10):
        assert place.quickly(*words) == 2
    told = "bad folder 'out': it cannot be written, File too large; make room, then give the same"
    assert told in capsys.readouterr().err
    with read_only(place.out):
        assert place.quickly(*words) == 2
    told = (
        r"bad folder 'out': out/\S+ cannot be written, Permission denied; check permissions, then"
    )
    assert re.search(told, capsys.readouterr().err)


@fast
def test_a_disk_that_is_too_full_for_the_database_is_told(place, capsys, monkeypatch):
    def on_a_full_disk(*arguments):
        with files_of_at_most(10):
            return replace_database(*arguments)

    monkeypatch.setattr("pytest_ansorbench.tuning.tuning.replace_database", on_a_full_disk)
    assert place.quickly("models:product", "--trials", "2") == 2
    told = "bad folder 'out': it cannot be written, No space left on device; make room, then give"
    assert told in capsys.readouterr().err


@fast
def test_ctrl_c_leaves_a_database_and_the_same_call_goes_on(place, monkeypatch, capsys):
    words = ("models:product", "--trials", "4", "--round", "1")
    with monkeypatch.context() as patch:
        patch.setattr(command, "_progress", lambda: Interrupted(3))
        assert place.quickly(*words) == 3
    assert "interrupted: the same command goes on" in capsys.readouterr().err
    assert place.files() == {*DATABASE, "command.txt"} and len(place.database()) == 1
    done = place.trials()
    assert len(done) == 2
    assert place.quickly(*words) == 0
    assert place.trials()[:2] == done and len(place.trials()) == 4


@fast
@pytest.mark.parametrize("error", [PackedError, StorageError])
def test_ctrl_c_is_told_where_no_database_can_be_made(place, monkeypatch, capsys, error):
    def unreadable(*_):
        raise error("planted")

    monkeypatch.setattr("pytest_ansorbench.tuning.tuning.fastest_schedules", unreadable)
    monkeypatch.setattr(command, "_progress", lambda: Interrupted(3))
    assert place.quickly("models:product", "--trials", "4", "--round", "1") == 3
    assert "interrupted: the same command goes on" in capsys.readouterr().err


@fast
@pytest.mark.parametrize(("before_s", "kept"), [(1e-9, 1), (1.0, 0)])
def test_what_was_faster_before_is_left_untuned(place, monkeypatch, capsys, before_s, kept):
    compiled, compile_case = [], Compiled.of
    before = ReferenceKernel("untuned", "1", (before_s,))
    monkeypatch.setattr("pytest_ansorbench.report.tuning.before_tuning", lambda _: before)
    monkeypatch.setattr(Compiled, "of", lambda *of: compiled.append(of) or compile_case(*of))
    assert place.quickly("models:product", "--trials", "2") == 0
    told = " times as fast, so it is left untuned; 2 trials"
    assert capsys.readouterr().out.count(told) == kept
    [(_, scheduled, _)] = compiled
    assert len(scheduled) == 1 - kept


@fast
def test_a_case_without_a_valid_schedule_exits_1(place, monkeypatch, capsys):
    monkeypatch.setattr("tests.fast_engine.InProcess.wrong", lambda self: "planted")
    assert place.quickly("models:product", "--trials", "2") == 1
    assert "no schedule of it works: no valid trial" in capsys.readouterr().out


@fast
def test_a_kernel_that_its_last_measurement_refutes_is_not_shipped(place, monkeypatch, capsys):
    def refuting(self, programs, check, effort, before=None):
        yield AfterSet([Remeasurement(None, "wrong-result", (), "planted") for _ in programs], 1.0)

    compiled, compile_case = [], Compiled.of
    monkeypatch.setattr(Compiled, "of", lambda *of: compiled.append(of) or compile_case(*of))
    with monkeypatch.context() as patch:
        patch.setattr(FastEngine, "measure_sets", refuting)
        assert place.quickly("models:product", "--trials", "1") == 1
    assert "no schedule of it works: planted" in capsys.readouterr().out
    [(_, scheduled, _)] = compiled
    assert not scheduled and not place.database()
    [journal] = list_journals(place.out)
    assert main(["export", str(journal), "--database", "exported"]) == 2
    assert "it keeps no schedules" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["models:product", "--trials", "0"], "bad --trials '0': expected a whole number of at"),
        (["models:product", "--time-limit", "soon"], "bad --time-limit 'soon': expected a durat"),
        (["models:product", "--strategy", "best"], "bad strategy 'best': expected one of default"),
        (["models:product", "--strategy", "a,b"], "bad --strategy 'a,b': expected one, e.g. draft"),
        (["models:product", "--rpc", "x"], "bad --rpc 'x': expected HOST:PORT:KEY of a tracker"),
        (
            ["models:product", "--rpc", "h:1:k", "--cores", "0"],
            "bad --cores: it is about this machine, and with --rpc programs run on another",
        ),
        (
            ["models:product", "--rpc", "h:1:k", "--against", "numpy"],
            "bad --against: it is about this machine, and with --rpc programs run on another",
        ),
        (
            ["models:dense", "--against", "numpy"],
            "bad --against 'numpy': dense: it cannot be exported: it is neither",
        ),
        (
            ["models:product", "--caches", "warm", "--flush-cache", "8"],
            "bad --caches 'warm': expected cold, as --flush-cache 8 empties the caches",
        ),
        (["models:empty"], "bad case 'empty': there is nothing in it to tune; expected at least"),
        (["models:nothing"], "bad model 'models:nothing': models has no 'nothing'; expected"),
        (["models.txt"], "bad case 'models.txt': expected one of the"),
        (
            ["models.py"],
            "bad model file 'models.py': expected one that ends in .onnx, .pt2",
        ),
        (
            ["models:open_shape"],
            "bad network 'open_shape': the shape of its input 'x', (n, 4), is",
        ),
        (["absent.onnx"], "bad model file 'absent.onnx': there is no such file"),
        (["models:product", "models:product"], f"bad case '{PRODUCT.id}': it is given twice"),
        (["models:product", "--shape", "m=1"], "bad --shape: "),
        (
            ["models:product", "--rewrite", "fast"],
            "bad --rewrite 'fast': expected none, channels-last, packed, winograd or fast-math",
        ),
        (
            ["models:product", "models:network", "--trials", "2", "--rewrite", "none"],
            f"{NETWORK.id}: bad --trials 2: expected at least",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(place, capsys, words, message):
    assert place.tune(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith(f"ansor-bench: {message}")
    assert captured.err.count("\n") == 1 and "--ansor" not in captured.err
    assert not place.out.exists() and "shapes=" not in captured.err


@pytest.mark.parametrize(("named", "absent"), [("", ""), ("gxx-0", " 'gxx-0'")])
def test_without_a_compiler_nothing_is_searched(place, capsys, monkeypatch, named, absent):
    monkeypatch.setenv("CXX", named)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(place.root))
    assert place.quickly("models:product", "--trials", "2") == 2
    told = f"no library can be linked: there is no C++ compiler{absent}; install"
    assert told in capsys.readouterr().err
    assert not place.out.exists()
    check_linker(RemoteSettings(server=DeviceAddress("127.0.0.1", 9090)))


@fast
def test_why_a_library_cannot_be_linked_is_told_in_the_linkers_words(place, capsys, monkeypatch):
    linker = place.root / "linker"
    linker.write_text("#!/bin/sh\necho 'ld: no room'\necho 'collect2: error'\nexit 1\n")
    linker.chmod(0o755)
    monkeypatch.setenv("CXX", str(linker))
    assert place.quickly("models:product", "--trials", "2") == 2
    told = f"the library of {PRODUCT.id} cannot be linked: ld: no room; once that is mended, give"
    assert told in capsys.readouterr().err


def test_a_file_is_no_folder(place, capsys):
    place.out.write_text("")
    assert place.tune("models:product") == 2
    assert "bad -o 'out': expected a folder, e.g. tuned" in capsys.readouterr().err


def now_with(monkeypatch, **changes):
    """Have engines of a changed machine from now on."""
    made = toolchains.local_engine

    def changed(*settings):
        engine = made(*settings)
        engine.machine = {**engine.machine, **changes}
        return engine

    monkeypatch.setattr(toolchains, "local_engine", changed)


@fast
def test_a_folder_outlives_packages(place, monkeypatch):
    for trials, version in (("2", "2.1"), ("4", "3.0"), ("6", "3.1")):
        now_with(monkeypatch, packages={"xgboost": version})
        assert place.quickly("models:product", "--trials", trials) == 0
    assert len(place.trials()) == 6


@fast
def test_a_folder_of_another_machine_is_refused(place, capsys, monkeypatch):
    """Nothing is learnt for a call that is refused, which a small budget is as well."""
    assert place.quickly("models:product", "--trials", "2") == 0
    before = place.past().entries, (place.out / "command.txt").read_text()
    learning = ("models:network", "--strategy", "draft+transfer", "--trials")
    assert place.tune(*learning, "1") == 2
    now_with(monkeypatch, cpu="another")
    assert place.tune(*learning, "8") == 2
    err = capsys.readouterr().err
    assert "bad --trials 1: expected at least" in err
    assert "bad -o 'out': the run was begun on another machine (cpu: " in err
    assert before == (place.past().entries, (place.out / "command.txt").read_text())
    assert not (place.out / "learnt").exists()
