"""What the host makes of a case, and whether that is what this interpreter makes of it.

Either side has its own TVM make the tasks. They are the same tasks if they are as many, in one
order, called as often, with arguments of the same shapes, and compute the same from the same
inputs. That holds across versions of TVM, whose programs differ in their text.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.arrays import unpack_arrays
from pytest_ansorbench.hosted.process import HostProcess
from pytest_ansorbench.measure.arguments import bytes_of, mismatch
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.travel import StayError, packed
from pytest_ansorbench.workloads.case import NetworkCase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.workloads.case import Case, Task


@dataclass(frozen=True)
class There:
    """A case at the host."""

    number: int  # that the host calls it by
    programs: tuple[str, ...]  # of its tasks, packed, as the host's TVM writes them
    network: Mapping[str, Any]  # the whole: its `program`, how many `functions`; else nothing


def agreed(host: HostProcess, case: Case, tasks: Sequence[Task]) -> There:
    """Have the host make a case, once while no other one is asked for.

    Raises:
        StayError: It cannot, or makes another one.
    """
    sent = packed(case, host.root)
    key = json.dumps(sent)
    if key not in host.cases:
        host.cases.clear()  # so does the host: a network's weights are large
        answer = host.request({"op": "case", "case": sent, "name": case.id})
        arguments = case.arguments() if isinstance(case, NetworkCase) else ()
        if difference := _difference(answer, tasks, arguments):
            raise StayError(f"{difference}; leave one of the two out")
        programs = tuple(str(one["program"]) for one in answer["tasks"])
        host.cases[key] = There(answer["case"], programs, answer["network"])
    there: There = host.cases[key]
    return there


def shape_of(task: Task) -> list[Any]:
    """How often a task is called, and type and shape of each of its arguments."""
    shapes = Program.operator(task.mod).shapes
    return [task.weight, *([kind, [*shape]] for kind, shape in shapes)]


def digest(array: NDArray[Any]) -> list[Any]:
    """What tells arrays apart."""
    return [str(array.dtype), [*array.shape], zlib.crc32(bytes_of(array).data)]


def _difference(
    there: Mapping[str, Any], tasks: Sequence[Task], arguments: Sequence[NDArray[Any]]
) -> str:
    """In what a case is another one there; empty if it is the same."""
    if len(there["tasks"]) != len(tasks):
        number = len(there["tasks"])
        return f"its number of tasks is {number} there and {len(tasks)} here"
    computed = iter(unpack_arrays(there["payload"]))
    for place, (task, other) in enumerate(zip(tasks, there["tasks"], strict=True)):
        name = f"task {place}, {task.name},"
        if other["shape"] != shape_of(task):
            return f"{name} is {_told(other['shape'])} there and {_told(shape_of(task))} here"
        outputs = [next(computed) for _ in range(other["outputs"])]
        if outputs and task.check is not None and (wrong := mismatch(outputs, task.check)):
            return f"{name} computes something else there: {wrong}"
    if there["network"].get("arguments", []) != [*map(digest, arguments)]:
        return "its inputs or weights are others there"
    return ""


def _told(shape: Sequence[Any]) -> str:
    weight, *arguments = shape
    return f"{weight} x ({', '.join(f'{kind}{extents}' for kind, extents in arguments)})"
