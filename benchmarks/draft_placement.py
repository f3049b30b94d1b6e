"""How much sooner is a program made, if TVM is not asked where padding is computed?

    python benchmarks/draft_placement.py [--case ID,ID] [--programs N]

Makes the same random programs twice, in turn, on one thread: by replaying their traces, and as
`DecisionSpace.program` does. Prints milliseconds a program and their ratio for the sketches whose
location is placed by rule, and for all sketches of the case's tasks. Without --case, three
networks. Takes half a minute.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from time import perf_counter
from typing import Final

import numpy as np
from tabulate import tabulate
from tvm.s_tir.meta_schedule import TuneContext

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.strategies import ProgramMaker, Registry
from pytest_ansorbench.strategies.draft.space import DecisionSpace

NETWORKS: Final = "resnet18-n1-s224,mobilenetv2-n1-s224,resnet50-n1-s224"
HEADS: Final = ("case", "sketches", "programs", "replay ms", "by rule ms", "ratio")


def main() -> None:
    """Print two rows a case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=NETWORKS)
    parser.add_argument("--programs", type=int, default=4, help="of each sketch (default: 4)")
    given = parser.parse_args()
    rows = [row for case in given.case.split(",") for row in rows_of(case, given.programs)]
    print(tabulate(rows, HEADS, floatfmt=("", "", "", ".1f", ".1f", ".2f")))


def rows_of(case: str, programs: int) -> list[tuple[str, str, int, float, float, float]]:
    """What programs of a case's tasks take, on average over those that are valid.

    Raises:
        AssertionError: Both ways do not make the same program.
    """
    target = resolve_target(None)
    register_intrinsics(target)
    strategy = Registry().get("draft")
    rng = np.random.default_rng(0)
    spent_s: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for task in workloads.get(case).tasks():
        context = TuneContext(
            task.mod, target=target, space_generator=strategy.space(), task_name=task.name
        )
        sketches = context.generate_design_space()
        maker = ProgramMaker(context)
        for space in (DecisionSpace(*one, maker) for one in enumerate(sketches)):
            for vector in map(tuple, space.draw(programs, rng).tolist()):
                start = perf_counter()
                replayed = maker.replay(space.trace(vector), 1)
                between = perf_counter()
                program = space.program(vector, maker)
                end = perf_counter()
                if replayed is None or program is None:
                    assert replayed is program
                    continue
                assert replayed.fingerprint == program.fingerprint
                both = between - start, end - between
                spent_s["all"].append(both)
                if not program.trace.same_as(program.schedule.trace):
                    spent_s["placed"].append(both)
    found = []
    for kind, pairs in spent_s.items():
        replay_ms, rule_ms = 1e3 * np.mean(pairs, axis=0)
        found.append((case, kind, len(pairs), replay_ms, rule_ms, rule_ms / replay_ms))
    return found


if __name__ == "__main__":
    main()
