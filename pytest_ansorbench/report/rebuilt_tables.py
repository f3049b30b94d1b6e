"""The report on kernels that were made again: a table, and sentences on what stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from pytest_ansorbench.records import Gate
from pytest_ansorbench.records.rebuilt_kernels import (
    RECORDED,
    KernelSide,
    KernelsVerdict,
    KernelVerdict,
    RebuiltKernel,
    RebuiltKernels,
)
from pytest_ansorbench.report.cells import (
    REFERENCE,
    Cell,
    Gap,
    Number,
    Ratio,
    SuiteRatio,
    Text,
    known,
    mark,
    throughput,
)
from pytest_ansorbench.report.gates import gate_sentence
from pytest_ansorbench.report.sections import (
    Column,
    GateSentence,
    Group,
    Lines,
    Report,
    Section,
    Table,
)
from pytest_ansorbench.report.wording import counted, decisions_text, estimate_text
from pytest_ansorbench.stats.rebuilt_ratios import has_changed, machine_change

_COLUMNS: Final = (
    Column("kernel", "kernel", kind="words"),
    Column("toolchain", "toolchain", kind="words"),
    Column("latency", "latency", "ms"),
    Column("throughput", "GFLOP/s", "GFLOP/s"),
    Column("throughput_ratio", "throughput ratio"),
    Column("build", "build", "s"),
    Column("code", "code", "kB"),
    Column("verdict", "verdict", kind="words"),
)
_CONFIDENCE: Final = 0.95


def kernels_report(rebuilt: RebuiltKernels, verdicts: Sequence[KernelsVerdict]) -> Report:
    """Report on kernels that were made again, with the verdicts on them.

    A table with a group for each kernel and a row for each toolchain, all kernels together at its
    end; then what failed, gates that do not hold, those of the suite, and the machine.
    """
    if not rebuilt.kernels:
        return Report.of(Section("kernels", (Lines(("no kernel was made",)),)))
    groups = [
        Group(tuple(_rows(kernel, index, verdicts))) for index, kernel in enumerate(rebuilt.kernels)
    ]
    groups.append(Group(tuple(_suite_row(verdict) for verdict in verdicts), "summary"))
    notes = (
        Lines.of(_failures(rebuilt.kernels)),
        Lines.of(_gates(verdicts)),
        *_machine(rebuilt),
        Lines.of(_toolchains(rebuilt)),
        Lines.of(_legend(rebuilt)),
    )
    return Report.of(Section("kernels", (Table(_COLUMNS, tuple(groups)),)), Section("notes", notes))


def kernel_gate_sentence(verdict: KernelVerdict, gate: Gate, reference: str) -> GateSentence:
    """One kernel's gate."""
    return _gate(f"{verdict.kernel}, {verdict.toolchain} against {reference}", gate)


def suite_gate_sentence(verdict: KernelsVerdict, gate: Gate) -> GateSentence:
    """The gate of all kernels together."""
    kernels = counted(len(verdict.kernels), "kernel")
    return _gate(f"suite of {kernels}, {verdict.toolchain} against {verdict.reference}", gate)


def _gate(compared: str, gate: Gate) -> GateSentence:
    if gate.reason != "other-machine":
        return gate_sentence(gate, f"{compared}: ", "process set")
    return GateSentence(f"{compared}: the machine itself is not as fast as it was: ", gate.outcome)


def _rows(
    kernel: RebuiltKernel, index: int, verdicts: Sequence[KernelsVerdict]
) -> Iterator[tuple[Cell, ...]]:
    reference, *others = kernel.sides
    yield (*_cells(kernel, reference, REFERENCE), Gap.IRRELEVANT)
    for side, of_all in zip(others, verdicts, strict=True):
        verdict = of_all.kernels[index]
        outcome = verdict.gate.outcome if verdict.gate else None
        yield (*_cells(kernel, side, Ratio(verdict.ratio)), mark(outcome))


def _cells(kernel: RebuiltKernel, side: KernelSide, ratio: Cell) -> list[Cell]:
    latency_s, code_bytes = side.measured.latency_s, side.code_bytes
    build_s = median(side.build_s) if side.build_s else None
    return [
        Text(kernel.name),
        Text(side.toolchain),
        known(latency_s, lambda seconds: Number.of(1e3 * seconds, ".3g")),
        known(latency_s, lambda seconds: throughput(kernel.flops / seconds / 1e9)),
        Gap.UNKNOWN if latency_s is None else ratio,
        known(build_s, lambda seconds: Number.of(seconds, ".2g")),
        known(code_bytes, lambda size: Number.of(size / 1e3, ".1f")),
    ]


def _suite_row(verdict: KernelsVerdict) -> tuple[Cell, ...]:
    compared = sum(one.ratio.bound != "undefined" for one in verdict.kernels)
    return (
        Text("all kernels"),
        Text(verdict.toolchain),
        Gap.EMPTY,
        Gap.EMPTY,
        SuiteRatio(verdict.ratio, compared, len(verdict.kernels)),
        Gap.EMPTY,
        Gap.EMPTY,
        mark(verdict.outcome),
    )


def _failures(kernels: Sequence[RebuiltKernel]) -> Iterator[str]:
    for kernel in kernels:
        for side in kernel.sides:
            measured = side.measured
            if measured.status != "ok":
                yield f"{kernel.name}, {side.toolchain}: {measured.status}: {measured.error}"


def _gates(verdicts: Sequence[KernelsVerdict]) -> Iterator[GateSentence]:
    """What does not hold, and what the suite comes to."""
    for verdict in verdicts:
        for one in verdict.kernels:
            if one.gate is not None and one.gate.outcome != "holds":
                yield kernel_gate_sentence(one, one.gate, verdict.reference)
    for verdict in verdicts:
        if verdict.gate is not None:
            yield suite_gate_sentence(verdict, verdict.gate)


def _machine(rebuilt: RebuiltKernels) -> Iterator[Lines]:
    """How fast the machine is, where that matters."""
    if rebuilt.kernels[0].sides[0].toolchain != RECORDED:
        return
    if not rebuilt.noise_then or not rebuilt.noise_now:
        sentence = (
            "warning: the result does not say how fast the machine was; a slower machine looks "
            "like slower kernels"
        )
        yield Lines((sentence,), tone="warning")
        return
    change = machine_change(rebuilt)
    ratio = estimate_text(change.estimate(_CONFIDENCE))
    sentence = f"the machine now over then, by a fixed kernel: {ratio}; ratios are divided by it"
    if has_changed(change):
        yield Lines((f"warning: {sentence}",), tone="warning")
    else:
        yield Lines((sentence,))


def _toolchains(rebuilt: RebuiltKernels) -> Iterator[str]:
    """The versions behind each name."""
    for name, one in rebuilt.toolchains.items():
        packages = one.get("packages") or {}
        versions = "".join(
            f", {package} {packages[package]}"
            for package in ("apache-tvm", "apache-tvm-ffi")
            if packages.get(package)
        )
        changes = {
            key: value
            for settings in one.get("changes", {}).values()
            for key, value in settings.items()
        }
        changed = f", {decisions_text(changes)}" if changes else ""
        yield f"{name}: Python {one.get('python') or '?'}{versions}{changed}"


def _legend(rebuilt: RebuiltKernels) -> Iterator[str]:
    yield (
        f"throughput ratio: same schedules, toolchain over "
        f"{rebuilt.kernels[0].sides[0].toolchain}; above 1 it makes faster kernels; [low, high] by "
        "Student's t over sets of processes"
    )
    yield "all kernels: geometric mean; build: median seconds; code: size of the object file"
