"""Of random decisions of each shipped operator: how many are no program for a GPU, and who says so.

    python benchmarks/gpu_rejections.py [--arch sm_90] [--count 200] [CASE ...]

Needs no GPU. `told` are rejected by their decisions alone, `replayed` by a postprocessor; `missed`
would have been programs though their decisions were rejected: there should be none.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from tabulate import tabulate

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.landscapes.programs import design_of
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.workloads import Operator
from pytest_ansorbench.workloads.catalogue import OPERATORS


def rejections(case: Operator, target: object, count: int) -> dict[str, object]:
    """Draw decisions, each choice as likely as any other, and replay all of them."""
    [task] = case.tasks()
    design, _ = design_of(task, target)
    spaces, maker, rng = design.spaces, design.maker, np.random.default_rng(0)
    told = programs = missed = 0
    for space, share in zip(spaces, np.array_split(np.arange(count), len(spaces)), strict=True):
        sizes = [knob.size for knob in space.knobs]
        vectors = rng.integers(sizes, size=(len(share), len(sizes)), dtype=np.int32)
        allowed = space.allowed(vectors)
        traces = [space.trace(tuple(vector)) for vector in vectors.tolist()]
        made = maker.map(lambda trace: maker.replay(trace, 1), traces)
        is_program = np.array([program is not None for program in made], dtype=np.bool_)
        told += int((~allowed).sum())
        programs += int((allowed & is_program).sum())
        missed += int((~allowed & is_program).sum())
    return {
        "case": case.id,
        "sketches": len(spaces),
        "decisions": count,
        "told": told,
        "replayed": count - told - programs,
        "programs": programs,
        "missed": missed,
    }


def main() -> None:
    """Print a table, one case of each operator unless some are named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("cases", nargs="*")
    given = parser.parse_args()
    target = resolve_target(json.dumps({"kind": "cuda", "arch": given.arch}))
    register_intrinsics(target)
    first = {type(case): case for case in reversed(OPERATORS)}
    cases = [case for case in OPERATORS if case.id in given.cases] or [*first.values()][::-1]
    rows = [rejections(case, target, given.count) for case in cases]
    print(tabulate(rows, headers="keys"))


if __name__ == "__main__":
    main()
