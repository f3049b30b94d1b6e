"""Faults planted in a copy of TVM have to be told by an arm that the copy searches.

    python benchmarks/two_toolchains.py [--only PLANT] [--repeats auto:8] [--trials 48]

Each plant is one line in MetaSchedule's Python, in a copy of the installed TVM with an environment
of its own: `slow-search` sleeps when the cost model learns, `slow-kernels` has a schedule rule
that neither parallelizes nor vectorizes, `none` is the copy as it is. `default@planted`, searched
by the copy, is held against `default`, with the limits of `planted.py`. Up to a quarter of an
hour a plant on 2 cores.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import sysconfig
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from sessions import ROOT, bench

CASE: Final = "conv1d-n1-l128-ci128-co256-k1-s2-p0"


class Plant(NamedTuple):
    """A line, and the only one of a file of TVM's that it comes behind."""

    file: str
    behind: str
    line: str
    broken: str  # the gates that should be


PLANTS: Final = {
    "none": Plant("__init__.py", "", "", "no gate"),
    "slow-search": Plant(
        "s_tir/meta_schedule/cost_model/xgb_model.py",
        "        assert len(candidates) == len(results)\n",
        "        __import__('time').sleep(5.0)\n",
        "gates on search time",
    ),
    "slow-kernels": Plant(
        "s_tir/meta_schedule/space_generator/post_order_apply.py",
        '        """Constructor"""\n',
        "        from .. import schedule_rule; kind = schedule_rule.ParallelizeVectorizeUnroll; "
        "sch_rules = [kind(-1, 1) if type(one) is kind else one for one in "
        "schedule_rule.ScheduleRule.create('llvm')]\n",
        "the gate on the throughput ratio",
    ),
}


def main() -> None:
    """Make each copy that is asked for, and print what a bench with it tells."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=PLANTS, help="with one of the copies")
    parser.add_argument("--repeats", default="auto:8", help="as --ansor-repeats has it")
    parser.add_argument("--trials", default="48", help="of a run")
    given = parser.parse_args()
    for name in [given.only] if given.only else PLANTS:
        folder = ROOT / ".ansor_bench" / f"two-toolchains-{name}"
        print(f"{name}: to be broken: {PLANTS[name].broken}", flush=True)
        python = planted(PLANTS[name], folder)
        bench(
            folder / "result.json",
            case=CASE,
            strategy="default,default@planted",
            toolchain=f"planted={python}",
            trials=given.trials,
            round=12,
            repeats=given.repeats,
            max_early_search_ratio=1.0,
            min_throughput_ratio=0.95,
            storage=folder / "results",
        )


def planted(plant: Plant, folder: Path) -> Path:
    """An environment with a copy of TVM and a line more in it; its interpreter."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    found = find_spec("tvm")
    assert found is not None and found.origin is not None
    shutil.copytree(Path(found.origin).parent, site / "tvm", copy_function=copied)
    # All else is this environment's. Behind the copy, which goes before.
    others = [path for path in sys.path if "site-packages" in path]
    (site / "others.pth").write_text("\n".join([*others, str(ROOT)]))
    file = site / "tvm" / plant.file
    text = file.read_text()
    assert not plant.line or text.count(plant.behind) == 1, "another version of TVM"
    file.write_text(text.replace(plant.behind, plant.behind + plant.line) if plant.line else text)
    return folder / "bin" / "python"


def copied(source: str, target: str) -> None:
    """Copy a file; libraries are links, which spares 300 MB."""
    if ".so" in Path(source).suffixes:
        Path(target).symlink_to(source)
    else:
        shutil.copyfile(source, target)


if __name__ == "__main__":
    main()
