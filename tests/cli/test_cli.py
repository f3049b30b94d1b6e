"""The `ansor-bench` command: what it prints and how it exits."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_ansorbench import cli
from pytest_ansorbench.cli import main
from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import Journal, read_result, save_numbered, write_result
from pytest_ansorbench.storage.entries import EndEntry
from tests.pages import page
from tests.storage.test_journal import SESSION
from tests.synthetic import make_case_result, make_noise, make_result, make_run


def five_seeds(seconds: float = 0.5, final: float = 1.0, case: str = "conv2d", **more):
    """A challenger that takes `seconds` a trial where the reference takes 1."""
    return make_case_result(
        case,
        [make_run(case, seed=s, final=1.0) for s in range(5)],
        {
            "fast": [
                make_run(case, "fast", s, seconds_per_trial=seconds, final=final) for s in range(5)
            ]
        },
        **more,
    )


@pytest.fixture
def result_file(tmp_path):
    def write(**limits: float):
        path = tmp_path / "result.json"
        write_result(make_result(five_seeds(limits=Limits(limits))), path)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({}, 0),
        ({"search_ratio": 0.75}, 0),
        ({"search_ratio": 0.25}, 1),
        ({"throughput_ratio": 2.0}, 1),
    ],
)
def test_show_prints_the_table_and_exits_by_the_verdicts(result_file, capsys, limits, code):
    assert main(["show", result_file(**limits)]) == code
    out = capsys.readouterr().out
    assert "conv2d" in out
    assert "0.50 [0.50, 0.50]" in out


def test_show_takes_columns_sort_markdown_and_verbosity(result_file, capsys):
    path = result_file()
    assert main(["show", path, "--columns", "strategy,reached", "--sort", "case", "-v"]) == 0
    out = capsys.readouterr().out
    assert ["strategy", "reached"] in map(str.split, out.splitlines())
    assert "propose" in out and "\ntarget: " in out
    main(["show", path, "--columns", "strategy,case", "--group-by", "strategy"])
    assert ["fast", "conv2d"] in map(str.split, capsys.readouterr().out.splitlines())
    assert main(["show", path, "--format", "markdown"]) == 0
    assert "\n| case" in capsys.readouterr().out


def early_bird():
    """A challenger that reaches 0.4 GFLOP/s in a third of the trials, and the end as late."""
    reference = [make_run(seed=seed, final=1.0) for seed in range(5)]
    fast = [
        make_run(strategy="fast", seed=seed, latencies=[2, 2, 2, 1], final=1.0) for seed in range(5)
    ]
    return make_case_result(reference=reference, challengers={"fast": fast})


def test_show_and_compare_judge_by_another_goal(tmp_path, capsys):
    path = str(tmp_path / "result.json")
    write_result(make_result(early_bird()), tmp_path / "result.json")
    columns = ["--columns", "strategy,search_ratio"]
    main(["show", path, *columns])
    assert "0.33" not in capsys.readouterr().out
    main(["show", path, *columns, "--goal", "0.4"])
    assert "0.33 [0.33, 0.33]" in capsys.readouterr().out
    assert main(["compare", path, path, "--goal", "0.4"]) == 0
    assert "0.33" in capsys.readouterr().out
    assert main(["show", path, "--goal", "best"]) == 2
    assert "bad --goal 'best': expected way, or way:80%" in capsys.readouterr().err


def test_show_and_compare_tell_how_steady_the_machine_was(tmp_path, capsys):
    looks = {"calm.json": make_noise(), "noisy.json": make_noise(scatter=0.2, memory_s=0.2)}
    for name, look in looks.items():
        write_result(dataclasses.replace(make_result(), noise=(look,)), tmp_path / name)
    calm, noisy = (str(tmp_path / name) for name in looks)
    main(["show", calm])
    assert "noise" not in capsys.readouterr().out
    main(["show", calm, "-v"])
    assert "noise at the start: a kernel timed for 3 ms scatters by 0%" in capsys.readouterr().out
    main(["show", noisy])
    assert "\nnoise: a kernel timed for 3 ms scatters by 1" in capsys.readouterr().out
    main(["compare", noisy, calm])
    assert "the machine was much noisier then: kernels scattered by" in capsys.readouterr().out


def test_show_believes_the_runs_and_not_the_verdicts_beside_them(tmp_path, capsys):
    honest = make_case_result(limits=Limits({"search_ratio": 0.75}))
    [verdict] = honest.verdicts
    lie = dataclasses.replace(
        verdict,
        comparison=dataclasses.replace(verdict.comparison, search_ratio=Estimate(0.01, 0.01, 0.01)),
    )
    write_result(make_result(dataclasses.replace(honest, verdicts=(lie,))), tmp_path / "r.json")
    assert main(["show", str(tmp_path / "r.json")]) == 0
    out = capsys.readouterr().out
    assert "0.50 [0.50, 0.50]" in out
    assert "0.01" not in out


def test_show_refuses_runs_that_do_not_pair_up(tmp_path, capsys):
    case = make_case_result()
    write_result(make_result(dataclasses.replace(case, runs=case.runs[1:])), tmp_path / "r.json")
    assert main(["show", str(tmp_path / "r.json")]) == 2
    assert "seeds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "missing.json"], "bad result file 'missing.json'"),
        (["show", "main", "--storage", "nowhere"], "'nowhere' has none; pytest --ansor-bench"),
        (["show", "RESULT", "--columns", "foo"], "bad column 'foo'"),
        (["show", "RESULT", "--sort", "foo"], "bad sort key 'foo'"),
        (["show", "RESULT", "--group-by", "foo"], "bad grouping 'foo'"),
        (["show", "BROKEN"], "broken.json"),
    ],
)
def test_errors_are_one_line_on_standard_error_and_exit_2(
    result_file, tmp_path, capsys, arguments, message
):
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema_version": 1, "cases": ')
    paths = {"RESULT": result_file(), "BROKEN": str(broken)}
    assert main([paths.get(word, word) for word in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("ansor-bench: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_wrong_usage_exits_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["no-such-command"])
    assert stopped.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


def test_list_names_what_was_saved(tmp_path, capsys):
    assert main(["list", "--storage", str(tmp_path)]) == 0
    assert "nothing saved" in capsys.readouterr().out
    path = save_numbered(make_result(), tmp_path, "main")
    assert main(["list", "--storage", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert str(path) in out
    assert "default, fast" in out


def test_cases_and_strategies_are_listed_without_tvm():
    code = (
        "import sys; from pytest_ansorbench.cli import main; "
        "main(['cases']); main(['strategies']); sys.exit('tvm' in sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.returncode == 0, completed.stderr
    assert "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1" in completed.stdout
    assert "231.2" in completed.stdout
    assert "etc" in completed.stdout


def test_the_command_is_installed_and_explains_itself():
    completed = subprocess.run(
        [sys.executable, "-m", "pytest_ansorbench.cli", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert completed.returncode == 0
    for command in ("show", "list", "cases", "tasks", "strategies"):
        assert command in completed.stdout
    assert "exit codes: 0" in completed.stdout


@pytest.fixture
def storage(tmp_path):
    """Stored results: `main`, and one each that is slower, another case, and as good."""
    folder = tmp_path / "stored"
    for name, case in (
        ("main", five_seeds()),
        ("slow", five_seeds(seconds=0.9)),
        ("other", five_seeds(case="matmul")),
        ("same", five_seeds()),
    ):
        save_numbered(make_result(case), folder, name)
    return folder


@pytest.mark.parametrize(
    ("before", "after", "options", "code"),
    [
        ("main", "same", [], 0),
        ("main", "slow", [], 0),
        ("main", "same", ["--fail", "search_ratio_early:5%"], 0),
        ("main", "slow", ["--fail", "search_ratio_early:5%"], 1),
        ("1", "0002", ["--fail", "throughput_ratio:3%", "--fail", "search_ratio_early:90%"], 0),
        ("main", "slow", ["--fail", "search_ratio_early:79%"], 3),
        ("main", "other", [], 0),
        ("main", "other", ["--fail", "search_ratio_early:5%"], 1),
        ("main", "nowhere", [], 2),
        ("main", "slow", ["--fail", "speed:5%"], 2),
    ],
)
def test_compare_exits_by_what_got_worse(storage, capsys, before, after, options, code):
    arguments = ["compare", before, after, "--storage", str(storage), *options]
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert bool(err) == (code == 2 or (after == "other" and bool(options)))
    assert err.count("\n") <= 1
    if code != 2 and after != "other":
        assert "search_ratio" in out
    if after == "other":
        assert "matmul: not compared: the earlier result does not have it" in out
        assert "conv2d: not compared: the later result does not have it" in out


def test_compare_takes_seconds_of_one_machine_only(storage, tmp_path, capsys):
    result = make_result(five_seeds())
    moved = tmp_path / "moved.json"
    write_result(result, moved)
    text = moved.read_text().replace("made up", "another")
    moved.write_text(text)
    arguments = ["compare", "main", str(moved), "--storage", str(storage)]
    assert main([*arguments, "--fail", "search_time:10%"]) == 1
    out = capsys.readouterr().out
    assert "from another machine (cpu: made up is now another)" in out
    assert "or give --any-machine: broken" in out
    assert main([*arguments, "--fail", "search_time:10%", "--any-machine"]) == 0


def test_merge_puts_shards_together_and_judges_them_anew(storage, tmp_path, capsys):
    merged = tmp_path / "merged.json"
    arguments = ["merge", "main", "other", "--storage", str(storage), "-o", str(merged)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{merged}: 2 cases, 20 runs from 2 results\n"
    result = read_result(merged)
    assert [case.case for case in result.cases] == ["conv2d", "matmul"]
    families = {g.family for case in result.cases for v in case.verdicts for g in v.gates}
    assert families == {4}
    assert main(["show", str(merged)]) == 0


@pytest.mark.parametrize(("limit", "code"), [(0.9, 1), (None, 0)])
def test_a_suite_that_lost_every_case_is_broken(tmp_path, capsys, limit, code):
    path, empty = tmp_path / "lost.json", make_result()
    settings = {**empty.settings, "max_suite_search_ratio": limit}
    lost = dataclasses.replace(empty, cases=(), lost=("a", "b"), settings=settings)
    write_result(lost, path)
    assert main(["show", str(path)]) == code
    assert ("suite: no run of a, b: broken" in capsys.readouterr().out) == bool(limit)


def unpaired(case: str = "conv2d"):
    """A result whose arms have different seeds."""
    whole = five_seeds(case=case)
    return make_result(dataclasses.replace(whole, runs=whole.runs[1:]))


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("words", [["compare"], ["merge", "-o", "merged.json"], ["report"]])
def test_of_two_files_the_one_whose_seeds_differ_is_named(tmp_path, capsys, words, at):
    paths = [tmp_path / f"{place}.json" for place in range(2)]
    sound = five_seeds(case="conv2d" if words == ["compare"] else "matmul")
    for place, path in enumerate(paths):
        write_result(unpaired() if place == at else make_result(sound), path)
    command, *more = words
    assert main([command, *map(str, paths), *more]) == 2
    refused = f"ansor-bench: bad result file '{paths[at]}': bad challenger seeds [0, 1, 2, 3, 4]: "
    assert capsys.readouterr().err.startswith(refused)


@pytest.mark.parametrize("words", [["merge", "-o", "merged.json"], ["report"]])
def test_results_that_cannot_be_judged_are_named(tmp_path, capsys, words):
    path = tmp_path / "one.json"
    result = make_result()
    write_result(dataclasses.replace(result, settings={"confidence": 95.0}), path)
    command, *more = words
    assert main([command, str(path), *more]) == 2
    assert capsys.readouterr().err.startswith(f"ansor-bench: bad result file '{path}': bad confid")


@pytest.mark.parametrize(
    ("results", "what"),
    [
        (["main", "same"], "both have the run of default on conv2d with seed 0"),
        (["main", "main"], "expected different files, got one of them twice"),
        (["main", "nowhere"], "bad result 'nowhere': expected a name, a number or a file"),
    ],
)
def test_merge_refuses_clashes(storage, tmp_path, capsys, results, what):
    merged = tmp_path / "merged.json"
    assert main(["merge", *results, "--storage", str(storage), "-o", str(merged)]) == 2
    assert what in capsys.readouterr().err
    assert not merged.exists()


def test_ctrl_c_is_told_in_a_line(tmp_path, capsys, monkeypatch):
    def interrupted(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_ansorbench.storage.list_saved", interrupted)
    assert main(["list", "--storage", str(tmp_path)]) == 3
    assert capsys.readouterr().err == "ansor-bench: interrupted\n"


def test_list_names_interrupted_runs(tmp_path, capsys):
    with Journal.create(tmp_path, SESSION) as journal:
        pass
    with Journal.create(tmp_path, SESSION) as finished:
        finished.append(EndEntry(0))
    assert main(["list", "--storage", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"interrupted: {journal.path}, begun 2024-01-02T03:04:05+00:00; --ansor-resume=0001" in (
        out
    )
    assert finished.path.name not in out


PARSER = functools.cache(cli.make_parser)
SCALARS = st.sampled_from(
    [0, -1, 10**30, 1e308, 5e-324, "", "inf", "median", "ok", "default", None, True, [], {}]
)


def replaced(values, data):
    """Put another value in some place of a JSON value."""
    parent = values
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(parent[key], (dict, list)) or not parent[key]:
            break
        parent = parent[key]
    parent[key] = data.draw(SCALARS)
    return json.dumps(values)


def cut(text, data):
    """Put another piece of text in some place of a text."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    return text[:start] + data.draw(st.text(max_size=8)) + text[end:]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The text of a result file, to be spoiled."""
    path = tmp_path_factory.mktemp("sound") / "result.json"
    write_result(make_result(five_seeds()), path)
    return path.read_text()


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_file_with_any_piece_replaced_is_shown_or_refused_in_a_line(
    tmp_path, monkeypatch, sound, data
):
    """Fuzz: whatever a file holds, no traceback, no hang, and an exit code that means something."""
    monkeypatch.setattr(cli, "make_parser", PARSER)
    path = tmp_path / "fuzzed.json"
    spoiled = data.draw(st.sampled_from([cut, replaced]))
    made = cut(sound, data) if spoiled is cut else replaced(json.loads(sound), data)
    path.write_text(made, encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        codes = {main(["show", str(path), "-v"]), main(["compare", str(path), str(path)])}
    assert codes <= {0, 1, 2, 3}
    assert (2 in codes) == bool(err.getvalue())


def test_tasks_of_a_network_are_listed(capsys):
    assert main(["tasks", "mlp-n1-i784-h128x64-o10"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].split() == ["id", "task", "weight", "MFLOP", "shapes", "sketches"]
    first = lines[2].split()
    assert first[0] == "0" and "matmul" in first[1] and first[2] == "1"
    assert "1x784, 784x128, 128 -> 1x128" in lines[2]
    assert lines[-1].startswith("4 tasks, ") and "; 4 calls, 0.2 MFLOP in all" in lines[-1]


def test_an_operator_is_one_task(capsys):
    assert main(["tasks", "matmul-b12-m128-n64-k128"]) == 0
    out = capsys.readouterr().out
    assert "1 task, 1 to tune; 1 call" in out
    assert "12x128x128, 12x128x64 -> 12x128x64" in out


@pytest.mark.parametrize(("strategy", "sketches"), [("default", "3"), ("default-limited", "1")])
def test_sketches_are_those_of_a_strategys_design_space(strategy, sketches, capsys):
    assert main(["tasks", "matmul-b12-m128-n64-k128", "--strategy", strategy]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[-1] == sketches


def test_sketches_are_those_of_a_design_space_of_ones_own(tmp_path, monkeypatch, capsys):
    """The page's schedule rule, in a network's layer that has something to recompute."""
    (tmp_path / "schedule_rule.py").write_text(page("docs/schedule_rule.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    found = {}
    for strategy in ("default", "schedule_rule:RECOMPUTING"):
        assert main(["tasks", "softmax-m1536-n128", "--strategy", strategy]) == 0
        found[strategy] = int(capsys.readouterr().out.splitlines()[2].split()[-1])
    assert found["schedule_rule:RECOMPUTING"] > found["default"]
    sys.modules.pop("schedule_rule")


SPACELESS = """
from pytest_ansorbench.strategies import StockEvolution, Strategy

class Spaceless:
    def start(self, target):
        return None

NONE = Strategy("none", proposer=StockEvolution(), space=Spaceless())
"""


def test_a_design_space_of_ones_own_that_is_none_is_refused_in_a_line(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "spaceless.py").write_text(SPACELESS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["tasks", "softmax-m1536-n128", "--strategy", "spaceless:NONE"]) == 2
    err = capsys.readouterr().err
    assert "bad result None of start: expected one of MetaSchedule's space generators" in err
    assert "the design space of strategy 'none'" in err and err.count("\n") == 1
    sys.modules.pop("spaceless")


def test_tasks_of_a_model_in_a_file_are_listed(tmp_path, capsys):
    from tests.workloads.networks.test_networks_imported import onnx_file

    path = str(onnx_file(tmp_path))
    assert main(["tasks", path]) == 0
    assert "1x3x8x8" in capsys.readouterr().out
    assert main(["tasks", path, "--rewrite", "channels-last"]) == 0
    assert "1x8x8x3" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["resnet81-n1-s224"], "bad case 'resnet81-n1-s224': expected one of the"),
        (["resnet18-n1-s224", "--target", "{"], "bad --target '{'"),
        (["matmul-b12-m128-n64-k128", "--strategy", "defualt"], "bad strategy 'defualt': expected"),
        (["absent.onnx", "--rewrite", "nchw"], "bad --rewrite 'nchw': expected none, "),
        (["absent.onnx"], "bad model file 'absent.onnx': there is no such file"),
        pytest.param(
            ["absent.pt2"],
            "bad model file 'absent.pt2': there is no such file",
            marks=pytest.mark.skipif(not find_spec("torch"), reason="needs PyTorch"),
        ),
    ],
)
def test_tasks_of_what_is_not_there_are_refused_in_a_line(arguments, message, capsys):
    assert main(["tasks", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1


UNTUNABLE = """
from pytest_ansorbench.workloads import from_te, from_tir
from tests.workloads.odd_programs import scalar_argument
from tests.workloads.test_workloads_own import scaled_sum

def scalar():
    return from_tir("scaled", scalar_argument)

def misspelt():
    return from_te("sum", scaled_sum, lambda x, y: 2 * x + y, inputs={"z": (0, 1)})
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scalar", "argument 1 of 'scaled', 'a', is a scalar"),
        ("misspelt", "unknown input 'z' in inputs: expected 'x', 'y'"),
    ],
)
def test_tasks_of_what_cannot_be_tuned_are_refused_in_a_line(
    name, message, tmp_path, monkeypatch, capsys
):
    (tmp_path / "untunable.py").write_text(UNTUNABLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["tasks", f"untunable:{name}"]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1
    sys.modules.pop("untunable")


def test_merge_needs_a_file_to_write(result_file, capsys):
    with pytest.raises(SystemExit) as exited:
        main(["merge", result_file()])
    assert exited.value.code == 2
    assert "required: -o/--output" in capsys.readouterr().err
