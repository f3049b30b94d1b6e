"""What `benchmarks/noise.py` keeps, computes and draws."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ansorbench.measure.arguments import Arguments


@pytest.fixture
def script(import_script: Any) -> Any:
    """The command; `noise_report` is what it imports its tables from."""
    return import_script("noise")


@pytest.fixture
def tables(script: Any) -> Any:
    """The tables and figures."""
    return sys.modules["noise_report"]


def measured(log: float, seconds: float, **key: Any) -> dict[str, Any]:
    """A piece of one kernel as two arms, in four sets of two turns; the last two sets are off."""
    logs = [[log, log], [log, log], [9.0, 9.0], [9.0, 9.0]]
    return {
        **key,
        "levels_s": [0.001, 0.001 * math.exp(log)],
        "log_ratios": [log],
        "half_widths": [0.01],
        "logs": [logs],
        "seconds": seconds,
    }


def noise_pieces(tables: Any, scatter: dict[str, float]) -> list[dict[str, Any]]:
    """Two measurements of each operator by each way, off by so much to either side."""
    return [
        measured(
            sign * scatter[way],
            {"former": 9.0, "cheap": 1.8}.get(way, 12.0),
            part="noise",
            operator=operator,
            way=way,
            number=sign,
        )
        for operator in tables.OPERATORS
        for way in ("former", "default", "equal", "cheap")
        for sign in (-1, 1)
    ]


def trace(latencies_s: Any, period_s: float = 0.003) -> dict[str, Any]:
    return {
        "part": "memory",
        "period_s": period_s,
        "latencies_s": list(latencies_s),
        "seconds": 20.0,
    }


GOOD = {"former": 0.02, "default": 0.005, "equal": 0.004, "cheap": 0.01}


def test_bars_are_kept_by_small_scatter(tables: Any) -> None:
    text = tables.noise_text(noise_pieces(tables, GOOD))
    assert text.count("bar kept") == 3
    assert "0.20 (depthwise" in text and "1.8 s, 1.00% against 2.00% in 9.0 s (depthwise" in text


def test_the_report_ends_with_its_cost_and_the_load_of_the_machine(tables: Any) -> None:
    text = tables.report(noise_pieces(tables, GOOD), [0.01, 0.2])
    assert text.endswith(
        "40 pieces, 5.8 minutes; before and after them at most 0.20 cores of other work"
    )
    assert tables.report([], []).startswith("0 pieces")


def test_each_bar_is_missed_by_what_it_is_about(tables: Any) -> None:
    for way, scatter, missed in (("equal", 0.008, 2), ("cheap", 0.03, 1), ("default", 9.0, 0)):
        text = tables.noise_text(noise_pieces(tables, {**GOOD, way: scatter}))
        assert text.count("bar MISSED") == missed, way


def test_a_brief_way_is_the_beginning_of_one_of_equal_seconds(tables: Any) -> None:
    pieces = noise_pieces(tables, GOOD)
    brief = tables.Way(pieces, tables.OPERATORS[0], "brief")
    assert brief.log_ratios == [-0.004, 0.004]
    assert brief.seconds == tables.BRIEF_S


def test_an_operator_without_two_measurements_has_no_row(tables: Any) -> None:
    pieces = [piece for piece in noise_pieces(tables, GOOD) if piece["operator"][0] != "c"]
    assert [name.split("-")[0] for name in tables.by_operator(pieces)] == [
        "depthwise",
        "matmul",
        "matmul",
    ]
    assert tables.noise_text(pieces[:1]) == ""


def test_truth_is_inside_or_not(tables: Any) -> None:
    logs = [math.log1p(percent / 100) for percent in tables.OTHER_PERCENT]
    pieces = [
        {
            "part": "truth",
            "lineup": "work",
            "number": number,
            "log_ratios": [log + shift for log in logs],
            "half_widths": [0.005] * len(logs),
            "seconds": 5.0,
        }
        for number, shift in enumerate((0.0, 0.002, 0.02))
    ]
    text = tables.truth_text(pieces)
    assert text.count("2 of 3") == 3
    assert "4 arms in 5.0 s" in text


def test_a_favour_is_told_from_none(tables: Any) -> None:
    def piece(lineup: str, number: int, logs: list[float]) -> dict[str, Any]:
        levels_s = [1.0] * (len(logs) + 1)
        key = {"part": "truth", "lineup": lineup, "number": number}
        return {**key, "log_ratios": logs, "levels_s": levels_s, "seconds": 1.0}

    pieces = [
        piece(lineup, number, [log + 0.001 * number])
        for number in (-1, 0, 1)
        for lineup, log in (("forward", 0.05), ("backward", -0.05), ("short", 0.1))
    ]
    rows = tables.lineups_text(pieces).splitlines()[3:]
    assert [row.split()[0] for row in rows] == ["place:", "length:"]
    assert [row.split()[-1] for row in rows] == ["no", "yes"]


def test_autocorrelation_forgets(tables: Any) -> None:
    rng = np.random.default_rng(0)
    values = [0.0]
    for step in rng.normal(size=20_000):
        values.append(0.9 * values[-1] + step)
    found = tables.autocorrelation(np.array(values), 20)
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(0.9, abs=0.03)
    assert found[10] == pytest.approx(0.9**10, abs=0.06)
    assert tables.autocorrelation(np.ones(10), 3) == [0.0] * 4
    assert "autocorrelation" in tables.memory_text([trace(np.exp(np.array(values) / 100))])


def test_waiting_compares_slices_with_rest(tables: Any) -> None:
    block = {
        "rested": [[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.01], [1.0, 1.0]]],
        "slices": [[[0.02, 0.02], [1.0, 1.0]], [[0.02, 0.03], [1.0, 1.0]]],
    }
    key = {"part": "waiting", "seconds": 1.0, "number": 0}
    pieces = [
        {**key, "of": "blocks", **block},
        {**key, "of": "spinning", "levels_s": [1e-5, 1e-3]},
        {**key, "of": "sleeping", "levels_s": [2.5e-5, 1e-3]},
    ]
    text = tables.waiting_text(pieces)
    assert "small +2.00% +- 0.00%" in text and "ratio +2.00%" in text
    assert "small kernel 2.50 times as slow" in text


def test_figures_are_drawn_from_the_pieces(tables: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    latencies_s = np.exp(np.random.default_rng(0).normal(-7, 0.1, 1000))
    pieces = [*noise_pieces(tables, GOOD), trace(latencies_s)]
    assert [path.name for path in tables.draw_figures(pieces, tmp_path)] == [
        "noise-memory.svg",
        "noise-method.svg",
    ]
    assert tables.draw_figures([], tmp_path) == []


def test_a_notebook_goes_on_where_it_was(script: Any, tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    notebook = script.Notebook(path)
    notebook.begin()
    notebook.note_load(0.5)
    assert notebook.fill(lambda: {"value": 1}, part="memory")["value"] == 1
    again = script.Notebook(path)
    again.begin()
    assert again.fill(lambda: {"value": 2}, part="memory")["value"] == 1
    assert again.fill(lambda: {"value": 3}, part="noise", number=0)["value"] == 3
    record = json.loads(path.read_text(encoding="utf-8"))
    assert [piece["value"] for piece in record["pieces"]] == [1, 3]
    assert len(record["sessions"]) == 2
    assert again.busy_cores == [0.5]
    assert [one.name for one in tmp_path.iterdir()] == ["noise.json"]


@pytest.mark.parametrize("text", ["", "[]", '{"pieces": []}'])
def test_a_file_of_something_else_is_refused(script: Any, tmp_path: Path, text: str) -> None:
    path = tmp_path / "noise.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="expected a file that this benchmark wrote"):
        script.Notebook(path)


def test_a_file_of_another_machine_is_not_gone_on_with(script: Any, tmp_path: Path) -> None:
    path = tmp_path / "noise.json"
    path.write_text('{"machine": {}, "sessions": [], "pieces": []}', encoding="utf-8")
    with pytest.raises(SystemExit, match="another machine"):
        script.Notebook(path).begin()


@pytest.mark.parametrize("arguments", [["--part", "none"], ["--measurements", "1"], ["--figures"]])
def test_bad_options_are_errors_of_usage(
    script: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], tmp_path: Path
) -> None:
    where = [str(tmp_path)] if arguments == ["--figures"] else []
    monkeypatch.setattr(sys, "argv", ["noise.py", *arguments, *where])
    with pytest.raises(SystemExit) as caught:
        script.main()
    assert caught.value.code == 2


@pytest.mark.parametrize("parallel", [True, False])
def test_pieces_are_all_worked_off(script: Any, parallel: bool) -> None:
    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.measure.local.compiled import CompiledKernel

    program = script.Piecework(3, parallel).program(2)
    kernel = CompiledKernel(program.mod, resolve_target(None))
    kernel.take(program.shapes, None)
    kernel.call()
    left, right, _ = Arguments(program.shapes, None).arrays
    expected = 3 * (left.astype(np.float64) @ right)
    np.testing.assert_allclose(kernel.output(), [expected, expected], rtol=1e-4, atol=1e-4)
