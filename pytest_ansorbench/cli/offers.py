"""Commands about what there is to run: cases, tasks, strategies."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal

if TYPE_CHECKING:
    from pytest_ansorbench.workloads import Case


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands to a parser."""
    cases = commands.add_parser("cases", help="list the shipped cases")
    cases.set_defaults(run=_cases)

    tasks = commands.add_parser(
        "tasks",
        help="list the tensor programs that a case is made of",
        description="Lists the tasks of a case as TVM extracts them: how often the case calls "
        "each, what one call computes, and how many sketches there are to choose from.",
    )
    tasks.add_argument(
        "case",
        metavar="CASE",
        help="id of a shipped case, e.g. resnet18-n1-s224, or a model's file: .onnx, or .pt2 as "
        "torch.export.save writes it",
    )
    tasks.add_argument("--target", metavar="JSON", help="an LLVM target (default: this CPU)")
    tasks.set_defaults(run=_tasks)

    strategies = commands.add_parser("strategies", help="list shipped and installed strategies")
    strategies.set_defaults(run=_strategies)


def _cases(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.workloads import CASES

    rows = [[case.id, f"{case.flops / 1e6:.1f}"] for case in CASES]
    print(tabulate(rows, headers=["case", "MFLOP"], disable_numparse=True))
    return HOLDS


def _tasks(given: argparse.Namespace) -> int:
    from pytest_ansorbench.environment import (
        MisfitError,
        ToolchainError,
        check_toolchain,
        resolve_target,
    )
    from pytest_ansorbench.measure.intrinsics import register_intrinsics
    from pytest_ansorbench.report import RENDERERS, tasks_report
    from pytest_ansorbench.search import describe_tasks
    from pytest_ansorbench.workloads import ImportFailed, UnknownCase

    try:
        case = _case(given.case)
        check_toolchain()
        target = resolve_target(given.target)
        tasks = case.tasks()
    except MisfitError as error:
        raise Refusal(f"bad --target {error.value!r}: {error.problem}") from None
    except (UnknownCase, ToolchainError, ImportFailed) as error:
        raise Refusal(str(error)) from None
    register_intrinsics(target)
    print(RENDERERS["terminal"].render(tasks_report(describe_tasks(tasks, target))))
    return HOLDS


def _case(name: str) -> Case:
    """A shipped case by its id, or a model by its file.

    Raises:
        UnknownCase: It is neither.
    """
    from pytest_ansorbench.workloads import from_exported_program, from_onnx, get

    if name.endswith(".onnx"):
        return from_onnx(name)
    if name.endswith(".pt2"):
        return from_exported_program(name)
    return get(name)


def _strategies(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.strategies import Registry, StrategyError

    registry = Registry()
    try:
        registry.add_entry_points()
    except StrategyError as error:
        raise Refusal(str(error)) from None
    rows = [[strategy.name, strategy.description] for strategy in registry]
    print(tabulate(rows, headers=["strategy", "what it is"]))
    return HOLDS
