"""What is wrong with a landscape that somebody contributes, a sentence each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from pytest_ansorbench.landscapes.files import read_landscape
from pytest_ansorbench.landscapes.records import Landscape, PointRecord, programs_hash
from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.storage import StorageError

MOST_BYTES: Final = 1 << 20
LICENSES: Final = ("CC0-1.0", "CC-BY-4.0", "Apache-2.0", "MIT", "BSD-3-Clause")
LEAST_POINTS: Final = 2
_OVER_PEAK: Final = 1.05
"""A peak is measured, too."""
_LEAST_SPREAD: Final = 1.5
"""Of the fastest program over the slowest."""
_REBUILT: Final = 8


def faults(path: Path, *, programs: bool = False) -> list[str]:
    """What is wrong with a file; nothing if it may be contributed.

    Args:
        path: The file.
        programs: Whether programs of some points are made anew, which takes TVM.
    """
    try:
        landscape = read_landscape(path)
    except StorageError as error:
        return [str(error)]
    found = [*_of_file(path), *_of_subject(landscape), *_of_results(landscape)]
    if programs:
        found += _of_programs(landscape)
    return [f"bad landscape {str(path)!r}: {one}" for one in found]


def _of_file(path: Path) -> Iterator[str]:
    size = path.stat().st_size
    if size > MOST_BYTES:
        yield f"it has {size:,} bytes; expected at most {MOST_BYTES:,}, so record fewer points"


def _of_subject(landscape: Landscape) -> Iterator[str]:
    subject = landscape.subject
    if subject.license not in LICENSES:
        yield f"its license {subject.license!r} is none of {', '.join(LICENSES)}"
    for key in ("cpu", "system", "target"):
        if not subject.machine.get(key):
            yield f"its machine has no {key!r}; expected what record writes of it"
    for name, told, counted in (
        ("space_hash", landscape.space_hash, subject.space_hash),
        ("programs_hash", landscape.programs_hash, programs_hash(landscape.results)),
    ):
        if told != counted:
            yield f"its {name} is {told}, expected {counted}: what it is of was changed"


def _of_results(landscape: Landscape) -> Iterator[str]:
    subject, valid, peak_gflops = landscape.subject, [], _peak_gflops(landscape)
    known: dict[str, tuple[int, PointRecord]] = {}
    for at, one in enumerate(landscape.results):
        where, times = f"results[{at}]", one.times
        first_at, first = known.setdefault(one.program, (at, one))
        if one.program and (first.times, first.invalidity) != (times, one.invalidity):
            yield f"{where} has the program of results[{first_at}], and was measured otherwise"
        if one.invalidity != "correct":
            if not one.error:
                yield f"{where} failed without an error; expected its first line"
            continue
        valid.append(one.latency_s)
        if times.benchmark_time < 0.99 * sum(times.runtimes):
            yield (
                f"{where} was measured in {times.benchmark_time:.3g} s, less than its runtimes take"
            )
        gflops = subject.task.flops / one.latency_s / 1e9
        if gflops > _OVER_PEAK * peak_gflops:
            yield f"{where} has {gflops:.0f} GFLOP/s, above the machine's peak of {peak_gflops:.0f}"
    if len(valid) < LEAST_POINTS or max(valid) < _LEAST_SPREAD * min(valid):
        yield (
            f"its fastest program is less than {_LEAST_SPREAD} times as fast as its slowest: there "
            "is nothing to search for"
        )


def _peak_gflops(landscape: Landscape) -> float:
    """The machine's peak; infinity if it is not known, or not for numbers below 32 bits."""
    subject = landscape.subject
    footprints = [one for sketch in subject.sketches for one in sketch.footprints]
    narrow = any(region.item_bytes < 4 for one in footprints for region in one.regions)
    return math.inf if subject.peak is None or narrow else subject.peak.compute_gflops


def _of_programs(landscape: Landscape) -> Iterator[str]:
    """Points whose programs are others when they are made anew."""
    from pytest_ansorbench.environment import ToolchainError
    from pytest_ansorbench.landscapes.programs import (
        UnrecordableError,
        design_anew,
        program_hash,
        program_of,
    )

    subject = landscape.subject
    try:
        design, sketches = design_anew(landscape)
    except (ToolchainError, PackedError, UnrecordableError) as error:
        yield str(error)
        return
    if sketches != subject.task.sketches:
        before = ", ".join(subject.task.sketches)
        yield f"its sketches are {before}, and anew {', '.join(sketches)}"
        return
    rng = np.random.default_rng(len(landscape.results))
    count = min(_REBUILT, len(landscape.results))
    for at in sorted(rng.choice(len(landscape.results), count, replace=False).tolist()):
        record = landscape.results[at]
        try:
            program = program_of(design, record.configuration)
        except ValueError as error:
            yield f"results[{at}]: {error}"
            continue
        anew = "" if program is None else program_hash(program)
        if anew != record.program:
            packages = subject.machine.get("packages")
            version = packages.get("apache-tvm") if isinstance(packages, dict) else None
            yield (
                f"results[{at}] has the program {record.program or 'none'}, and anew "
                f"{anew or 'none'}; it was recorded with TVM {version}"
            )
