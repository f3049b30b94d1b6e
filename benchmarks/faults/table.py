"""One table over all campaigns whose ledgers lie in a folder.

    python benchmarks/faults/table.py [docs/results/faults]

Ledgers are kept compressed, `gzip -9n NAME.jsonl`. A row is a campaign, with all its seeds; of
a trial that was run again the last outcome counts.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from ledger import SURVIVED, Outcome, read
from tabulate import tabulate

RESULTS: Final = Path(__file__).parents[2] / "docs" / "results" / "faults"
HEADINGS: Final = ("campaign", "trials", "faults", "slowest", "biggest")


def main() -> None:
    """Print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=RESULTS)
    given = parser.parse_args()
    ledgers = sorted(given.folder.glob("*.jsonl*"))
    print(table(outcome for ledger in ledgers for outcome in read(ledger)))


def table(outcomes: Iterable[Outcome]) -> str:
    """The outcomes of some campaigns, as Markdown."""
    last = {(one.campaign, one.seed, one.index): one for one in outcomes}
    by_campaign: dict[str, list[Outcome]] = {}
    for one in last.values():
        by_campaign.setdefault(one.campaign, []).append(one)
    rows = [_row(campaign, trials) for campaign, trials in sorted(by_campaign.items())]
    return tabulate(rows, HEADINGS, tablefmt="github", disable_numparse=True)


def _row(campaign: str, trials: Sequence[Outcome]) -> Sequence[str]:
    verdicts = Counter(one.verdict for one in trials)
    del verdicts[SURVIVED]
    faults = ", ".join(f"{name} {count}" for name, count in verdicts.most_common()) or "none"
    slowest, biggest = max(one.seconds for one in trials), max(one.mb for one in trials)
    return (
        *(campaign, f"{len(trials):,}", faults),
        *(f"{slowest:.1f} s", f"{biggest:.0f} MB" if biggest else ""),
    )


if __name__ == "__main__":
    main()
