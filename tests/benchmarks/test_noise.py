"""What `benchmarks/noise.py` computes and draws of what it has measured."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ansorbench.measure.arguments import Arguments

GOOD = {"former": 0.02, "default": 0.005, "equal": 0.004, "cheap": 0.01}
SECONDS = {"former": 9.0, "default": 3.0, "equal": 12.0, "cheap": 1.8}


@pytest.fixture
def tables(import_script: Any) -> Any:
    """The tables and figures."""
    return import_script("noise_report")


def piece(seconds: float = 1.0, **fields: Any) -> dict[str, Any]:
    return {**fields, "seconds": seconds, "busy_cores": 0.2}


def noise_pieces(tables: Any) -> list[dict[str, Any]]:
    """Two measurements of each operator by each way, off to either side; two sets are far off."""
    return [
        piece(
            SECONDS[way],
            part="noise",
            operator=operator,
            way=way,
            levels_s=[0.001, 0.001 * math.exp(log)],
            log_ratios=[log],
            logs=[[[log, log], [log, log], [9.0, 9.0], [9.0, 9.0]]],
        )
        for operator in tables.OPERATORS
        for way, scatter in GOOD.items()
        for log in (-scatter, scatter)
    ]


def trace(latencies_s: Any) -> dict[str, Any]:
    return piece(20.0, part="memory", period_s=0.003, latencies_s=list(latencies_s))


def test_each_way_has_its_scatter_and_the_report_ends_with_its_cost(tables: Any) -> None:
    text = tables.report(noise_pieces(tables))
    slices = next(line for line in text.splitlines() if "slices, default effort" in line)
    assert slices.split()[-6:] == ["2", "3.0", "0.50%", "0.71%", "0.50%", "0.25"]
    assert text.endswith("40 pieces, 4.3 minutes; after them at most 0.20 cores of other work")
    assert tables.report([]).startswith("0 pieces")


def test_a_brief_way_is_the_beginning_of_one_of_equal_seconds(tables: Any) -> None:
    brief = tables.Way(noise_pieces(tables), tables.OPERATORS[0], "brief")
    assert brief.log_ratios == [-0.004, 0.004]
    assert brief.seconds == tables.BRIEF_S


def test_an_operator_without_two_measurements_has_no_row(tables: Any) -> None:
    pieces = [one for one in noise_pieces(tables) if one["operator"][0] != "c"]
    found = [name.split("-")[0] for name in tables.by_operator(pieces)]
    assert found == ["depthwise", "matmul", "matmul"]
    assert tables.noise_text(pieces[:1]) == ""


def test_truth_is_inside_or_not(tables: Any) -> None:
    logs = [math.log1p(percent / 100) for percent in tables.OTHER_PERCENT]
    pieces = [
        piece(
            5.0,
            part="work",
            lineup="work",
            log_ratios=[log + shift for log in logs],
            half_widths=[0.005] * len(logs),
        )
        for shift in (0.0, 0.002, 0.02)
    ]
    text = tables.work_text(pieces)
    assert text.count("2 of 3") == 3
    assert "4 arms in 5.0 s" in text


def test_a_place_is_no_favour_if_both_orders_say_the_same(tables: Any) -> None:
    pieces = [
        piece(part="work", lineup=lineup, log_ratios=[log])
        for lineup, log in (("forward", 0.05), ("backward", -0.04)) * 2
    ]
    assert tables.place_text(pieces).endswith("ought to be 0: +0.50% +- 0.00%")
    assert tables.place_text(pieces[:3]) == ""


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


def test_figures_are_drawn_from_the_pieces(tables: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    latencies_s = np.exp(np.random.default_rng(0).normal(-7, 0.1, 1000))
    tables.draw_figures([*noise_pieces(tables), trace(latencies_s)], tmp_path / "all")
    drawn = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert drawn == ["noise-memory.svg", "noise-method.svg"]
    tables.draw_figures([], tmp_path / "none")
    assert list((tmp_path / "none").iterdir()) == []


def test_pieces_are_all_worked_off(import_script: Any) -> None:
    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.measure.local.compiled import CompiledKernel

    program = import_script("noise").piecework(3, cores=2)
    kernel = CompiledKernel(program.mod, resolve_target(None))
    kernel.take(program.shapes, None)
    kernel.call()
    left, right, _ = Arguments(program.shapes, None).arrays
    expected = 3 * (left.astype(np.float64) @ right)
    np.testing.assert_allclose(kernel.outputs()[0], [expected, expected], rtol=1e-4, atol=1e-4)
