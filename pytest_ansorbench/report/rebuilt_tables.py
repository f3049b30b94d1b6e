"""The report on kernels that were made again: a table, and sentences on what stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from pytest_ansorbench.records import Estimate, Gate
from pytest_ansorbench.records.rebuilt_kernels import (
    RECORDED,
    KernelSide,
    KernelsVerdict,
    KernelVerdict,
    RebuiltKernel,
    RebuiltKernels,
)
from pytest_ansorbench.report.cells import (
    Cell,
    CodeSize,
    Counted,
    Decisions,
    Gap,
    GateMark,
    Latency,
    Ratio,
    ReferenceRatio,
    Seconds,
    Significant,
    SuiteRatio,
    Text,
    Throughput,
)
from pytest_ansorbench.report.gates import gate_sentence
from pytest_ansorbench.report.sections import (
    Column,
    Group,
    Lines,
    Report,
    Section,
    Sentence,
    Table,
)
from pytest_ansorbench.stats.rebuilt_ratios import MeanLog, has_changed, machine_change

_COLUMNS: Final = (
    Column("kernel", "kernel", kind="words"),
    Column("toolchain", "toolchain", kind="words"),
    Column("latency", "latency", Latency.UNIT),
    Column("throughput", Throughput.UNIT, Throughput.UNIT),
    Column("throughput_ratio", "throughput ratio"),
    Column("build", "build", Seconds.UNIT),
    Column("code", "code", CodeSize.UNIT),
    Column("verdict", "verdict", kind="words"),
)
_CONFIDENCE: Final = 0.95


def kernels_report(rebuilt: RebuiltKernels, verdicts: Sequence[KernelsVerdict]) -> Report:
    """Report on kernels that were made again.

    Args:
        rebuilt: The kernels.
        verdicts: As `stats.rebuilt_ratios.judge_rebuilt` gave them.

    Returns:
        A table with a group for each kernel and a row for each toolchain, all kernels together at
        its end; then what failed, gates that do not hold, those of the suite, and the machine.
    """
    if not rebuilt.kernels:
        return Report.of(Section("kernels", (Lines((("no kernel was made",),)),)))
    groups = [
        Group(tuple(_rows(kernel, index, verdicts))) for index, kernel in enumerate(rebuilt.kernels)
    ]
    groups.append(Group(tuple(_suite_row(verdict) for verdict in verdicts), "summary"))
    notes = (
        Lines(tuple(_failures(rebuilt.kernels))),
        Lines(tuple(_gates(verdicts))),
        *_machine(rebuilt),
        Lines(tuple(_toolchains(rebuilt))),
        Lines(tuple(_legend(rebuilt))),
    )
    return Report.of(Section("kernels", (Table(_COLUMNS, tuple(groups)),)), Section("notes", notes))


def kernel_gate_sentence(verdict: KernelVerdict, gate: Gate, reference: str) -> Sentence:
    """One kernel's gate."""
    return (Text(verdict.kernel), ", ", *_gate(verdict.toolchain, reference, gate))


def suite_gate_sentence(verdict: KernelsVerdict, gate: Gate) -> Sentence:
    """The gate of all kernels together."""
    return (
        "suite of ",
        Counted(len(verdict.kernels), "kernel"),
        ", ",
        *_gate(verdict.toolchain, verdict.reference, gate),
    )


def _gate(toolchain: str, reference: str, gate: Gate) -> Sentence:
    names: Sentence = (Text(toolchain), " against ", Text(reference), ": ")
    if gate.reason == "other-machine":
        return (*names, "the machine itself is not as fast as it was: ", GateMark(gate.outcome))
    return (*names, *gate_sentence(gate))


def _rows(
    kernel: RebuiltKernel, index: int, verdicts: Sequence[KernelsVerdict]
) -> Iterator[tuple[Cell, ...]]:
    reference, *others = kernel.sides
    yield (*_cells(kernel, reference, ReferenceRatio()), Gap.IRRELEVANT)
    for side, of_all in zip(others, verdicts, strict=True):
        verdict = of_all.kernels[index]
        outcome = Gap.IRRELEVANT if verdict.gate is None else GateMark(verdict.gate.outcome)
        yield (*_cells(kernel, side, Ratio(verdict.ratio)), outcome)


def _cells(kernel: RebuiltKernel, side: KernelSide, ratio: Cell) -> list[Cell]:
    latency_s = side.measured.latency_s
    words: list[Cell] = [Text(kernel.name), Text(side.toolchain)]
    tail: list[Cell] = [
        Seconds(median(side.build_s), Significant(2)) if side.build_s else Gap.UNKNOWN,
        Gap.UNKNOWN if side.code_bytes is None else CodeSize(side.code_bytes),
    ]
    if latency_s is None:
        return [*words, Gap.UNKNOWN, Gap.UNKNOWN, Gap.UNKNOWN, *tail]
    figures: list[Cell] = [
        Latency(1e3 * latency_s, Significant(3)),
        Throughput(kernel.flops / latency_s / 1e9),
    ]
    return [*words, *figures, ratio, *tail]


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
        Gap.IRRELEVANT if verdict.outcome is None else GateMark(verdict.outcome),
    )


def _failures(kernels: Sequence[RebuiltKernel]) -> Iterator[Sentence]:
    for kernel in kernels:
        for side in kernel.sides:
            if side.measured.status != "ok":
                yield (
                    Text(kernel.name),
                    ", ",
                    Text(side.toolchain),
                    ": ",
                    Text(side.measured.status),
                    ": ",
                    Text(side.measured.error),
                )


def _gates(verdicts: Sequence[KernelsVerdict]) -> Iterator[Sentence]:
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
        sentence: Sentence = (
            "the result does not say how fast the machine was; a slower machine looks like slower "
            "kernels",
        )
        yield Lines((sentence,), tone="warning")
        return
    change = machine_change(rebuilt)
    sentence = (
        "the machine now over then, by a fixed kernel: ",
        Ratio(_plain(change)),
        "; ratios are divided by it",
    )
    yield Lines((sentence,), tone="warning" if has_changed(change) else "plain")


def _plain(change: MeanLog) -> Estimate:
    return change.estimate(_CONFIDENCE)


def _toolchains(rebuilt: RebuiltKernels) -> Iterator[Sentence]:
    """The versions behind each name."""
    for name, one in rebuilt.toolchains.items():
        packages = one.get("packages") or {}
        versions = [
            part
            for package in ("apache-tvm", "apache-tvm-ffi")
            if packages.get(package)
            for part in (", ", package, " ", Text(packages[package]))
        ]
        changes = {
            key: value
            for settings in one.get("changes", {}).values()
            for key, value in settings.items()
        }
        changed: Sentence = (", ", Decisions(changes)) if changes else ()
        yield (Text(name), ": Python ", Text(one.get("python") or "?"), *versions, *changed)


def _legend(rebuilt: RebuiltKernels) -> Iterator[Sentence]:
    yield (
        "throughput ratio: same schedules, toolchain over ",
        Text(rebuilt.kernels[0].sides[0].toolchain),
        "; above 1 it makes faster kernels; [low, high] by Student's t over sets of processes",
    )
    yield ("all kernels: geometric mean; build: median seconds; code: size of the object file",)
