"""Commands about what there is to run, and where: cases, tasks, strategies, devices."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cli.exits import HOLDS, Refusal
from pytest_ansorbench.cli.models import add_rewrite, add_shapes, case_given, import_from_here

if TYPE_CHECKING:
    from pytest_ansorbench.strategies import Registry, Strategy


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
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
        help="id of a shipped case, e.g. resnet18-n1-s224; a model's file: .onnx, .tflite, or .pt2 "
        "as torch.export.save writes it; or module:function, which returns one",
    )
    add_shapes(tasks)
    add_rewrite(tasks, "none")
    tasks.add_argument(
        "--strategy",
        metavar="NAME",
        default="default",
        help="whose design space has the sketches, by its name or as module:NAME (default: "
        "%(default)s)",
    )
    tasks.add_argument("--target", metavar="TARGET", help="LLVM or CUDA (default: this CPU)")
    tasks.set_defaults(run=_tasks)

    strategies = commands.add_parser("strategies", help="list shipped and installed strategies")
    strategies.set_defaults(run=_strategies)

    devices = commands.add_parser(
        "devices",
        help="list the devices that a tracker hands out",
        description="Lists what TVM's tracker at an address has: by key, how many devices there "
        "are, how many of them are free, how many requests wait for one, and where they are.",
    )
    devices.add_argument("tracker", metavar="HOST:PORT", help="e.g. 127.0.0.1:9190")
    devices.set_defaults(run=_devices)


def _cases(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.workloads import CASES

    rows = [[case.id, f"{case.flops / 1e6:.1f}"] for case in CASES]
    print(tabulate(rows, headers=["case", "MFLOP"], disable_numparse=True))
    return HOLDS


def _tasks(given: argparse.Namespace) -> int:
    from pytest_ansorbench.environment import MisfitError, check_toolchain, resolve_target
    from pytest_ansorbench.measure.intrinsics import register_intrinsics
    from pytest_ansorbench.report.build import tasks_report
    from pytest_ansorbench.report.render.formats import RENDERERS
    from pytest_ansorbench.search import describe_tasks

    try:
        case = case_given(given.case, given.shape, given.rewrite)
        [strategy] = strategies_given([given.strategy])
        check_toolchain()
        target = resolve_target(given.target)
        tasks = case.tasks()
    except MisfitError as error:
        raise Refusal(f"bad --target {error.value!r}: {error.problem}") from None
    register_intrinsics(target)
    print(RENDERERS["terminal"].render(tasks_report(describe_tasks(tasks, target, strategy))))
    return HOLDS


def _strategies(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.strategies import Registry

    rows = [[strategy.name, strategy.description] for strategy in Registry.installed()]
    print(tabulate(rows, headers=["strategy", "what it is"]))
    return HOLDS


def strategies_given(words: Iterable[str]) -> list[Strategy]:
    """Strategies by their names, or as `module:NAME` of one, or of a function that returns one.

    Raises:
        StrategyError: There is none of that name.
        Refusal: A module cannot be imported, or has something else.
    """
    from pytest_ansorbench.strategies import Registry

    registry = Registry.installed()
    return [_own(word, registry) if ":" in word else registry.get(word) for word in words]


def _own(word: str, registry: Registry) -> Strategy:
    module, _, name = word.rpartition(":")
    import_from_here()
    try:
        found = getattr(importlib.import_module(module), name)
        strategy: Strategy = found() if inspect.isroutine(found) else found
        registry.add(strategy)
    except Exception as error:  # whatever a module raises
        raise Refusal(
            f"bad --strategy {word!r}: {type(error).__name__}: {error}; expected a name that "
            "`ansor-bench strategies` lists, or module:NAME, e.g. my_search:BOLD"
        ) from error
    return strategy


def _devices(given: argparse.Namespace) -> int:
    from tabulate import tabulate

    from pytest_ansorbench.measure.remote.settings import DeviceAddress
    from pytest_ansorbench.measure.remote.tracker import TrackerConnection

    try:
        address = DeviceAddress.parse_server(given.tracker)
    except ValueError:
        raise Refusal(
            f"bad tracker {given.tracker!r}: expected HOST:PORT, e.g. 127.0.0.1:9190"
        ) from None
    with TrackerConnection(address) as connection:
        queues = connection.queues()
    rows = [
        [one.key, len(one.addresses), one.free, one.waiting, ", ".join(one.addresses)]
        for one in queues
    ]
    if rows:
        headings = ["key", "devices", "free", "waiting", "addresses"]
        print(tabulate(rows, headers=headings, disable_numparse=True))
    else:
        print(
            f"no devices at {address}; a server of TVM's on a device adds it, see "
            "Devices behind TVM's RPC in docs/machines.md"
        )
    return HOLDS
