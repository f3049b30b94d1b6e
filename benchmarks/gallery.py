"""Three pictures of one result, as reports show them, for docs/gallery.

    pip install -e '.[report]'
    python benchmarks/gallery.py [RESULT]

Without a result, that of the README's example. Half a minute.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from pytest_ansorbench.cli import main as ansor_bench

ROOT: Final = Path(__file__).parent.parent
GALLERY: Final = ROOT / "docs" / "gallery"
EXAMPLE: Final = ROOT / "docs" / "results" / "readme-example.json.gz"
PICTURES: Final = {
    "curve-time": "Best throughput over the search time",
    "targets": "Ratio of the times to each target of the ladder",
    "phases": "Seconds of a run by phase",
}
PAGE: Final = """# Gallery

Figures of the [README](../../README.md)'s result, as [reports](../reports.md) show
them, written by

```sh
python benchmarks/gallery.py
```
"""


def main() -> None:
    """Draw the pictures, then write the page around them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("result", type=Path, nargs="?", default=EXAMPLE)
    result = parser.parse_args().result.resolve()
    page = PAGE
    for figure, told in PICTURES.items():
        words = ["plot", figure, str(result), "-o", str(GALLERY / f"{figure}.svg")]
        if ansor_bench(words):
            raise SystemExit(1)
        page += f"\n![{told}]({figure}.svg)\n\n{told}: `ansor-bench plot {figure}`.\n"
    (GALLERY / "README.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
