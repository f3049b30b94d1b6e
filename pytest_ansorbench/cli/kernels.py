"""The command that makes saved kernels again: kernels."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import ERROR, Refusal, exit_code
from pytest_ansorbench.cli.stored import add_storage, narrowed, read_stored

if TYPE_CHECKING:
    from pytest_ansorbench.measure.local.toolchains import LocalToolchains
    from pytest_ansorbench.measure.toolchain import Toolchain
    from pytest_ansorbench.records import NoiseTrace, Result
    from pytest_ansorbench.records.kernels import RebuiltKernels
    from pytest_ansorbench.stats.rebuilt import KernelLimits
    from pytest_ansorbench.winners import Winner

_STEADY_S = 2.0
"""Seconds of a look at how fast the machine is."""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command to a parser."""
    kernels = commands.add_parser(
        "kernels",
        help="make the kernels of a result again and measure them, without a search",
        description="Applies the fastest schedule of each task of a result again, compiles it with "
        "today's toolchain and measures it: against another toolchain, slice by slice in turn, or "
        "against the latencies that the result recorded, on the same machine only.",
        epilog="exit codes: 0 gates hold or there are none, 1 a gate is broken, 2 usage or tool "
        "error, 3 a gate is undecided",
    )
    kernels.add_argument("result", metavar="RESULT", help="name, number or file of a result")
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
    kernels.add_argument("--case", metavar="ID", help="of this case only")
    kernels.add_argument("--strategy", metavar="NAME", help="of this arm only")
    kernels.add_argument(
        "--rounds",
        default="auto",
        metavar="N",
        help="sets of fresh processes for each kernel, or auto: 4 to 12, until its ratio is known "
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
    kernels.add_argument("--markdown", action="store_true", help="print a Markdown table")
    add_storage(kernels)
    kernels.set_defaults(run=_kernels)


def _kernels(given: argparse.Namespace) -> int:
    from pytest_ansorbench.kernels import fastest
    from pytest_ansorbench.report import RENDERERS, kernels_report
    from pytest_ansorbench.stats.criteria import Criteria
    from pytest_ansorbench.stats.rebuilt import judge_rebuilt
    from pytest_ansorbench.storage import StorageError, write_rebuilt

    limits = _limits(given)
    path, result = read_stored(given.storage, given.result)
    winners = fastest(_winners(given, path, result))
    rebuilt, interrupted = _rebuilt(given, result, winners)
    verdicts = judge_rebuilt(rebuilt, Criteria(), limits)
    renderer = RENDERERS["markdown" if given.markdown else "terminal"]
    print(renderer.render(kernels_report(rebuilt, verdicts)))
    if given.json is not None:
        try:
            write_rebuilt(rebuilt, given.json)
        except StorageError as error:
            raise Refusal(str(error)) from None
    if interrupted:
        print(
            f"ansor-bench: interrupted after {len(rebuilt.kernels)} of {len(winners)} kernels",
            file=sys.stderr,
        )
        return ERROR
    return exit_code(verdict.outcome for verdict in verdicts)


def _limits(given: argparse.Namespace) -> KernelLimits:
    from pytest_ansorbench.stats.rebuilt import KernelLimits

    try:
        return KernelLimits(given.min_throughput_ratio, given.min_suite_throughput_ratio)
    except ValueError as error:
        raise Refusal(str(error)) from None


def _winners(given: argparse.Namespace, path: Path, result: Result) -> list[Winner]:
    from pytest_ansorbench.winners import winners_of

    found = [*winners_of(result)]
    if not found:
        raise Refusal(
            f"bad result file {str(path)!r}: it keeps no schedules, as results of before schema "
            "version 8 or without a valid trial; measure again"
        )
    if given.case is not None:
        found = narrowed(found, "--case", given.case, lambda one: one.case)
    if given.strategy is not None:
        found = narrowed(found, "--strategy", given.strategy, lambda one: one.strategy)
    return found


def _rebuilt(
    given: argparse.Namespace, result: Result, winners: Sequence[Winner]
) -> tuple[RebuiltKernels, bool]:
    """The kernels, and whether Ctrl-C kept some of them from being made."""
    from pytest_ansorbench.environment import MisfitError, ToolchainError
    from pytest_ansorbench.kernels import another_machine, compare_kernels, steady_then
    from pytest_ansorbench.measure.engine import EngineError
    from pytest_ansorbench.measure.local.toolchains import local_toolchains
    from pytest_ansorbench.measure.rounds import Rounds
    from pytest_ansorbench.measure.settings import EngineSettings
    from pytest_ansorbench.measure.toolchain import toolchains
    from pytest_ansorbench.records.kernels import RebuiltKernels
    from pytest_ansorbench.workloads import CASES

    try:
        effort = Rounds.parse(given.rounds).effort
    except ValueError as error:
        raise Refusal(f"bad --rounds {given.rounds!r}: {error}") from None
    variants = _variants(given.variant)
    recorded = given.against is None and not variants
    target = given.target or str(result.machines[winners[0].machine].get("target"))
    kernels = []
    interrupted = False
    steady: list[NoiseTrace] = []
    try:
        compared = local_toolchains(target, EngineSettings(), toolchains(given.against, variants))
        if recorded and (difference := another_machine(result, winners, compared.own.machine)):
            raise Refusal(
                f"its latencies were measured on another machine ({difference}): give --against "
                "PYTHON, whose kernels are measured here, or --variant"
            )
        rebuilt = RebuiltKernels(
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            toolchains={},
            kernels=(),
            steady_then=steady_then(result, winners) if recorded else (),
        )
        with compared:
            rebuilt = replace(rebuilt, toolchains=dict(compared.machines))
            steady += _steady(compared, recorded=recorded)
            try:
                for kernel in compare_kernels(
                    winners,
                    compared,
                    effort,
                    recorded=recorded,
                    case_of={case.id: case for case in CASES}.get,
                    note=lambda text: print(text, file=sys.stderr, flush=True),
                ):
                    kernels.append(kernel)
            except KeyboardInterrupt:
                interrupted = True
            else:
                steady += _steady(compared, recorded=recorded)
    except MisfitError as error:
        named = "--target" if given.target else "target of the result"
        raise Refusal(f"bad {named} {error.value!r}: {error.problem}") from None
    except (EngineError, ToolchainError) as error:
        raise Refusal(str(error)) from None
    return replace(rebuilt, kernels=tuple(kernels), steady_now=tuple(steady)), interrupted


def _steady(compared: LocalToolchains, *, recorded: bool) -> list[NoiseTrace]:
    """How fast the machine is, where that is compared with how fast it was."""
    from pytest_ansorbench.measure.noise import observe_noise

    seen = observe_noise(compared.own, _STEADY_S) if recorded else None
    return [] if seen is None else [seen]


def _variants(texts: Sequence[str]) -> list[Toolchain]:
    from pytest_ansorbench.measure.toolchain import Toolchain, check_names

    variants: list[Toolchain] = []
    for text in texts:
        try:
            variants.append(Toolchain.parse_variant(text))
            check_names(variants)
        except ValueError as error:
            raise Refusal(f"bad --variant {text!r}: {error}") from None
    return variants
