"""What is wrong with a contributed file is told in a sentence."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from statistics import stdev

import pytest

from pytest_ansorbench.landscapes import checking
from pytest_ansorbench.landscapes.card import Card
from pytest_ansorbench.landscapes.checking import faults
from pytest_ansorbench.landscapes.files import read_landscape, write_landscape
from pytest_ansorbench.landscapes.records import Landscape
from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.storage import StorageError
from tests.landscapes.recorded import timed

PEAK = {
    "measured": "2026-01-01T00:00:00+00:00",
    "compute_gflops": 1e-6,
    "bandwidths": [{"level": "L1", "working_set_bytes": 1024, "gbytes_per_s": 1.0}],
}


def test_a_recorded_one_is_whole_and_its_programs_are_made_again(landscape_file):
    assert faults(landscape_file, programs=True) == []


def test_the_same_landscape_is_the_same_bytes(landscape, landscape_file, tmp_path):
    path = tmp_path / "again.json.gz"
    write_landscape(landscape, path)
    assert path.read_bytes() == landscape_file.read_bytes()


def test_a_card_counts_each_program_once(landscape):
    programs = {one.program for one in landscape.results if one.program}
    even = Card.of(timed(landscape, lambda place: 1e-3))
    assert (even.case, even.points) == (landscape.subject.case, len(landscape.results))
    assert even.programs == even.near == len(programs) <= even.points
    assert (even.failed, even.median_share, even.noise) == (0, 1.0, 0.0)
    unsteady = tuple(
        replace(one, times=replace(one.times, runtimes=(1e-3, 3e-3))) if one.times.runtimes else one
        for one in landscape.results
    )
    noisy = Card.of(Landscape.of(landscape.subject, unsteady, 1.0))
    assert noisy.noise == pytest.approx(stdev([1.0, 3.0]) / 2.0)
    of_one = [at for at, one in enumerate(landscape.results) if one.program == min(programs)]
    of_other = [at for at, one in enumerate(landscape.results) if one.program == max(programs)]

    def latency_s(place):
        return None if place in of_one else 1e-3 if place in of_other else 4e-3

    uneven = Card.of(timed(landscape, latency_s))
    assert (uneven.failed, uneven.near, uneven.median_share) == (1, 1, pytest.approx(0.25))
    assert uneven.best_gflops == pytest.approx(landscape.subject.task.flops / 1e6)


def first(values):
    return values["results"][0]


def footprints(values):
    return values["subject"]["sketches"][0]["footprints"][0]


DAMAGES = {
    "a point less": (lambda v: v["results"].pop(), r"results'?\S* .*expected one for each of its"),
    "other order": (lambda v: v["results"].reverse(), r"results\[0\].configuration"),
    "other choice": (
        lambda v: v["subject"]["sketches"][0]["knobs"][1]["choices"].reverse(),
        r"results\[0\].configuration",
    ),
    "no slices": (lambda v: first(v)["times"].update(runtimes=[]), "at least one sample"),
    "half correct": (lambda v: first(v).update(correctness=0.5), r"correctness 0\.5: expected 1"),
    "a cause of its own": (lambda v: first(v).update(invalidity="tired"), "expected one of"),
    "a field more": (lambda v: v.update(extra=1), "no such field"),
    "another version": (lambda v: v.update(landscape_version=2), "landscape_version 2 is not 1"),
    "another tool's": (lambda v: v.pop("landscape_version"), "was it written by another tool"),
    "many points": (
        lambda v: v["subject"]["sketches"][0]["knobs"].extend(
            [{"kind": "location", "choices": [*range(1_000)], "values": []}] * 4
        ),
        "at most 100000 points",
    ),
    "tiles of nothing": (
        lambda v: v["subject"]["sketches"][0]["knobs"][0].update(choices=[[0, 1, 1, 1]]),
        "different choices of a tile",
    ),
    "a loop without end": (
        lambda v: footprints(v)["loops"][0].update(knob=99),
        "loops tiled by a knob",
    ),
    "half an index": (
        lambda v: footprints(v)["regions"][0]["dimensions"][0].update(
            index=[{"kind": "sum", "number": 0}]
        ),
        "an expression in postfix order",
    ),
    "license": (lambda v: v["subject"].update(license="mine"), "its license 'mine' is none of"),
    "machine": (lambda v: v["subject"]["machine"].pop("cpu"), "its machine has no 'cpu'"),
    "space": (lambda v: v["subject"].update(version="x"), "its space_hash is"),
    "programs": (lambda v: first(v).update(program="0" * 16), "its programs_hash is"),
    "peak": (lambda v: v["subject"].update(peak=PEAK), "above the machine's peak"),
    "too fast": (lambda v: first(v)["times"].update(benchmark_time=0.0), "less than its runtimes"),
}  # fmt: skip


def damaged(landscape_file, damage, folder):
    """A copy of a file whose values something was done to."""
    values = json.loads(gzip.decompress(landscape_file.read_bytes()))
    damage(values)
    path = folder / "damaged.json"
    path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told(landscape_file, tmp_path, name):
    damage, what = DAMAGES[name]
    path = damaged(landscape_file, damage, tmp_path)
    found = faults(path)
    assert found
    assert all(one.startswith(f"bad landscape {str(path)!r}: ") for one in found)
    with pytest.raises(AssertionError, match=what):
        assert not found, "\n".join(found)


@pytest.mark.parametrize("content", [b"", b"{", b"\x1f\x8b", b"[1]", b"\x80\x04K\x01."])
def test_what_is_no_landscape_is_refused(tmp_path, content):
    path = tmp_path / "x.json.gz"
    path.write_bytes(content)
    with pytest.raises(StorageError, match="bad landscape"):
        read_landscape(path)


def test_a_large_file_is_refused(landscape_file, monkeypatch):
    monkeypatch.setattr(checking, "MOST_BYTES", 100)
    assert "expected at most 100, so record fewer points" in "".join(faults(landscape_file))


def test_a_flat_one_is_refused(landscape, tmp_path):
    path = tmp_path / "flat.json"
    write_landscape(timed(landscape, lambda place: 1e-3), path)
    assert "there is nothing to search for" in "".join(faults(path))


def test_other_programs_are_told(landscape, tmp_path):
    results = [replace(one, program=f"{at:016x}") for at, one in enumerate(landscape.results)]
    path = tmp_path / "other.json"
    write_landscape(Landscape.of(landscape.subject, tuple(results), 1.0), path)
    found = faults(path, programs=True)
    assert len(found) == 8 and "it was recorded with TVM" in found[0]


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda v: v["subject"]["machine"].pop("target"), "bad target ''"),
        (lambda v: v["subject"]["machine"].update(target="abacus"), "bad target 'abacus'"),
        (lambda v: v["subject"].update(program=pack_program(nothing())), "nothing to decide"),
    ],
)
def test_programs_that_cannot_be_made_again_are_told(landscape_file, tmp_path, damage, what):
    path = damaged(landscape_file, damage, tmp_path)
    assert what in faults(path, programs=True)[-1]


def nothing():
    """A program without a loop."""
    from tvm import IRModule, te

    x = te.placeholder((), name="x")
    return IRModule({"main": te.create_prim_func([x, te.compute((), lambda: x() + 1.0)])})
