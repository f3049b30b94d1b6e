"""By how much do the schedules that results keep make their files larger?

    python benchmarks/schedule_growth.py RESULT...

Prints for each file its bytes as it is and without schedules and programs, both compact, and the
ratio of the two; last of all files together.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tabulate import tabulate

from pytest_ansorbench.codec import to_json
from pytest_ansorbench.storage import read_result


def main(paths: list[str]) -> None:
    """Measure all files."""
    rows: list[list[object]] = []
    total = [0, 0, 0]
    for path in paths:
        data = to_json(read_result(Path(path)))
        runs = sum(len(case["runs"]) for case in data["cases"])
        whole = _bytes(data)
        for case in data["cases"]:
            case["programs"] = []
            for run in case["runs"]:
                run["schedules"] = None
        without = _bytes(data)
        rows.append([Path(path).name, runs, whole, without, whole / without])
        total = [total[0] + runs, total[1] + whole, total[2] + without]
    rows.append(["all", *total, total[1] / total[2]])
    headings = ("file", "runs", "bytes", "without schedules", "ratio")
    print(tabulate(rows, headings, floatfmt=".3f"))


def _bytes(data: object) -> int:
    return len(json.dumps(data, separators=(",", ":")).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
