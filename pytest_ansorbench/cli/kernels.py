"""The command that makes saved kernels again: kernels."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import (
    INTERRUPTED,
    SKIP,
    UNDECIDED,
    Refusal,
    exit_code,
    parsed,
    sentence,
)
from pytest_ansorbench.cli.formats import add_formats, outputs_of, put_out
from pytest_ansorbench.cli.stored import add_storage, check_outputs, narrowed, read_stored

if TYPE_CHECKING:
    from pytest_ansorbench.measure.side_by_side import SideBySide
    from pytest_ansorbench.measure.toolchain import Toolchain
    from pytest_ansorbench.records import Result
    from pytest_ansorbench.records.rebuilt_kernels import RebuiltKernels
    from pytest_ansorbench.stats.rebuilt_ratios import KernelLimits
    from pytest_ansorbench.winners import Winner


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    kernels = commands.add_parser(
        "kernels",
        help="make the kernels of results again and measure them, without a search",
        description="Applies the fastest schedule of each task of some results again, compiles it "
        "with today's toolchain and measures it: against another toolchain or other options, slice "
        "by slice in turn, or against recorded latencies, on the same machine only. What was cold "
        "when the result was measured is cold again. With --arms the kernels of several arms are "
        "compared with each other.",
        epilog="exit codes, for git bisect run: 0 gates hold or are not there, 1 one is broken, "
        "2 wrong usage, 125 one is undecided, or a toolchain does not start or cannot measure",
    )
    kernels.add_argument(
        "results", nargs="+", metavar="RESULT", help="name, number or file of a result"
    )
    kernels.add_argument(
        "--against",
        metavar="PYTHON",
        help="interpreter of another environment with pytest-ansorbench, whose TVM makes the same "
        "kernels; they are the reference",
    )
    kernels.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME:KEY=VALUE,...",
        help="compile in another way as well: a key with a dot is an option of TVM's PassContext, "
        "any other an attribute of the target, e.g. avx2:mcpu=x86-64-v3; may be given several "
        "times",
    )
    kernels.add_argument(
        "--arms",
        metavar="NAME,NAME",
        help="compare the fastest kernels of these arms, the first being the "
        "reference, all made with today's toolchain",
    )
    kernels.add_argument("--case", metavar="ID", help="of this case only")
    kernels.add_argument("--strategy", metavar="NAME", help="of this arm only")
    kernels.add_argument(
        "--sets",
        default="auto",
        metavar="N",
        help="sets of fresh processes for each kernel, or auto: 8 to 24, until its ratio is known "
        "to 1%% (default: %(default)s)",
    )
    kernels.add_argument(
        "--min-throughput-ratio",
        type=float,
        metavar="RATIO",
        help="gate on each kernel: fail if its throughput ratio is below this",
    )
    kernels.add_argument(
        "--min-suite-throughput-ratio",
        type=float,
        metavar="RATIO",
        help="gate on all kernels together",
    )
    kernels.add_argument(
        "--target", metavar="TARGET", help="TVM target (default: that of the result's machine)"
    )
    kernels.add_argument("--json", type=Path, metavar="FILE", help="write all samples to a file")
    add_formats(kernels)
    add_storage(kernels)
    kernels.set_defaults(run=_kernels)


def _kernels(given: argparse.Namespace) -> int:
    """Judge kernels; what is neither their speed nor wrong usage is a commit to skip."""
    from pytest_ansorbench.storage import StorageError

    try:
        code = _judged(given)
    except (Refusal, StorageError, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        return SKIP
    except Exception as error:  # whatever half a toolchain raises
        print(f"ansor-bench: {sentence(error) or traceback.format_exc()}", file=sys.stderr)
        return SKIP
    return SKIP if code == UNDECIDED else code


def _judged(given: argparse.Namespace) -> int:
    from pytest_ansorbench.measure.process_sets import ProcessSets
    from pytest_ansorbench.report.rebuilt_tables import kernels_report
    from pytest_ansorbench.stats.criteria import Criteria
    from pytest_ansorbench.stats.failures import toolchain_failures
    from pytest_ansorbench.stats.rebuilt_ratios import (
        NOTHING_TO_HOLD_TO,
        KernelLimits,
        judge_rebuilt,
    )
    from pytest_ansorbench.storage import write_rebuilt

    outputs = outputs_of(given)
    limits = _limits(given)
    effort = parsed("--sets", given.sets, ProcessSets.parse).effort
    if given.arms is not None and (given.against or given.variant or given.strategy):
        raise Refusal("bad --arms: expected neither --against nor --variant nor --strategy with it")
    read = [read_stored(given.storage, one) for one in given.results]
    check_outputs([given.json, *(one.path for one in outputs)], (path for path, _ in read))
    results = [result for _, result in read]
    rows, toolchains = _rows(given, _winners(given, results))
    rebuilt, interrupted = _rebuilt(given, results, rows, toolchains, effort)
    verdicts = judge_rebuilt(rebuilt, Criteria(), limits)
    try:
        if given.json is not None:
            write_rebuilt(rebuilt, given.json)
    finally:  # one that fails does not cost the other
        put_out(kernels_report(rebuilt, verdicts), outputs)
    if interrupted:
        print(
            f"ansor-bench: interrupted after {len(rebuilt.kernels)} of {len(rows)} kernels",
            file=sys.stderr,
        )
        return UNDECIDED
    if limits != KernelLimits() and not any(verdict.gates for verdict in verdicts):
        print(f"ansor-bench: {NOTHING_TO_HOLD_TO}", file=sys.stderr)
        return UNDECIDED
    broken = ("broken" for _ in toolchain_failures(rebuilt.kernels))
    return exit_code([*(verdict.outcome for verdict in verdicts), *broken])


def _limits(given: argparse.Namespace) -> KernelLimits:
    from pytest_ansorbench.stats.rebuilt_ratios import KernelLimits

    kernel, suite = given.min_throughput_ratio, given.min_suite_throughput_ratio
    for flag, limit in (("throughput-ratio", kernel), ("suite-throughput-ratio", suite)):
        parsed(f"--min-{flag}", limit, KernelLimits)
    return KernelLimits(kernel, suite)


def _winners(given: argparse.Namespace, results: Sequence[Result]) -> list[Winner]:
    from pytest_ansorbench.winners import NO_SCHEDULES, winners_of

    found = [winner for result in results for winner in winners_of(result)]
    if not found:
        raise Refusal(f"bad RESULT {', '.join(given.results)}: {NO_SCHEDULES}")
    found = narrowed(found, "--case", given.case, lambda one: one.case)
    return narrowed(found, "--strategy", given.strategy, lambda one: one.strategy)


def _rows(
    given: argparse.Namespace, found: Sequence[Winner]
) -> tuple[Sequence[tuple[Winner, ...]], tuple[Toolchain, ...]]:
    """What to make of each task, one for each toolchain, and the toolchains."""
    from pytest_ansorbench.kernels import fastest, fastest_of_arms
    from pytest_ansorbench.measure.toolchain import Toolchain, toolchains

    if given.arms is None:
        compared = toolchains(given.against, _variants(given.variant))
        return [(winner,) * len(compared) for winner in fastest(found)], compared
    names = [name.strip() for name in given.arms.split(",")]
    for name in names:
        narrowed(found, "--arms", name, lambda one: one.strategy)
    if len(names) < 2 or len(set(names)) < len(names):
        raise Refusal(f"bad --arms {given.arms!r}: expected two arms or more, e.g. default,draft")
    rows = fastest_of_arms(found, names)
    if not rows:
        raise Refusal(f"bad --arms {given.arms!r}: they have no task in common")
    shared = {(one.case, one.place) for row in rows for one in row}
    left = (one for one in found if one.strategy in names and (one.case, one.place) not in shared)
    if cases := ", ".join(sorted({one.case for one in left})):
        print(
            f"ansor-bench: left out, tasks of {cases}: not all arms have a kernel of one program",
            file=sys.stderr,
        )
    return rows, tuple(map(Toolchain, names))


def _variants(texts: Sequence[str]) -> list[Toolchain]:
    from pytest_ansorbench.measure.toolchain import Toolchain, check_names

    variants: list[Toolchain] = []
    for text in texts:
        variants.append(parsed("--variant", text, Toolchain.parse_variant))
        parsed("--variant", text, lambda _: check_names(variants))
    return variants


def _rebuilt(
    given: argparse.Namespace,
    results: Sequence[Result],
    rows: Sequence[tuple[Winner, ...]],
    toolchains: Sequence[Toolchain],
    effort: SideBySide,
) -> tuple[RebuiltKernels, bool]:
    """The kernels, and whether Ctrl-C kept some of them from being made."""
    from pytest_ansorbench.environment import MisfitError
    from pytest_ansorbench.kernels import NoReferenceError, Rebuilding, TargetsError
    from pytest_ansorbench.workloads.definition import shipped

    winners = [winner for row in rows for winner in row]
    interrupted = False
    try:
        with closing(Rebuilding(results, winners, toolchains, target=given.target)) as rebuilding:
            rebuilding.start()
            try:
                rebuilding.make(
                    rows,
                    effort,
                    lambda winner: shipped(winner.case, winner.definition),
                    note=lambda text: print(text, file=sys.stderr, flush=True),
                )
            except KeyboardInterrupt:
                interrupted = True
            else:
                rebuilding.finish()
            return rebuilding.rebuilt, interrupted
    except NoReferenceError as error:
        raise Refusal(
            f"its latencies {error}: give --against PYTHON, whose kernels are measured here, or "
            "--variant"
        ) from None
    except TargetsError as error:
        raise Refusal(f"bad RESULT {', '.join(given.results)}: {error}; give --target") from None
    except MisfitError as error:
        if error.setting == "target" and given.target is None:
            raise  # a TVM that does not know what another one did
        raise Refusal(f"bad --{error.setting} {error.value!r}: {error.problem}") from None
