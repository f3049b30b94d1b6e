"""What is the experience that ships worth, on which machine? For the model's card.

    python benchmarks/draft_card.py

Judges results of `draft.py`, of several machines, and puts what they say of `draft+transfer` beside
`draft` on the card of the model that ships (`worth`). The versions of `draft` differ, the model is
the same, which is checked. Half a minute; `ansor-bench train-draft` writes a new card without it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from commits import hashes_at
from draft import RESULTS, ROOT, progress, suite
from tabulate import tabulate

from pytest_ansorbench.stats.judging import judge_result

CARD: Final = ROOT / "pytest_ansorbench" / "models" / "draft.card.json"
FOLDERS: Final = ("draft",)
"""Of docs/results, one for each machine."""
MODEL: Final = ("models/draft.npz", "models/draft.ubj")
ARMS: Final = ("draft", "draft+transfer")
AFTER: Final = (1, 8, 32)
"""Trials after which searches are compared."""


def worth(folder: Path) -> dict[str, Any]:
    """What one machine's results say.

    Args:
        folder: Of results of `draft.py`.

    Returns:
        The machine, the commit, operators and seeds; then for both arms S and throughput ratio
        against `default` over the suite, and how far they are after some trials.

    Raises:
        ValueError: They were measured with another model.
    """
    merged = suite(folder)
    commit = str(merged.commit["id"])
    if hashes_at(commit, MODEL) != hashes_at("HEAD", MODEL):
        raise ValueError(f"bad results {str(folder)!r}: measured with another model, at {commit}")
    [machine] = merged.machines.values()
    judged = {one.challenger: one for one in judge_result(merged).suites}
    reached = progress(merged)
    return {
        "results": folder.relative_to(ROOT).as_posix(),
        "commit": commit[:7],
        "cpu": machine["cpu"],
        "mcpu": json.loads(machine["target"])["mcpu"],
        "operators": len(merged.cases),
        "seeds": len({run.seed for case in merged.cases for run in case.runs}),
        **{
            arm: {
                "search_ratio": _rounded(judged[arm].figure("search_ratio").estimate.value),
                "throughput_ratio": _rounded(judged[arm].figure("throughput_ratio").estimate.value),
                "share_of_best_after_trials": {
                    str(count): _rounded(reached[arm][count].share) for count in AFTER
                },
            }
            for arm in ARMS
        },
    }


def table(rows: list[dict[str, Any]]) -> str:
    """A line for each machine and arm."""
    columns = ["machine", "", "S", "throughput", *(f"after {count}" for count in AFTER)]
    lines = [
        [
            row["mcpu"] if arm == ARMS[0] else "",
            arm,
            row[arm]["search_ratio"],
            row[arm]["throughput_ratio"],
            *row[arm]["share_of_best_after_trials"].values(),
        ]
        for row in rows
        for arm in ARMS
    ]
    return tabulate(lines, columns)


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def main() -> None:
    """Write the card, and print the table."""
    card = json.loads(CARD.read_text(encoding="utf-8"))
    card["worth"] = [worth(RESULTS / name) for name in FOLDERS]
    CARD.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    print(table(card["worth"]))


if __name__ == "__main__":
    main()
