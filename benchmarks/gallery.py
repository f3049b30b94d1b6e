"""One result as reports show it, for docs/gallery: its table, and three pictures.

    pip install -e '.[report]'
    python benchmarks/gallery.py [RESULT]

Without a result, that of the README's example. Half a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import io
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

One result, that of the [README](../../README.md), as the reports show it. This page is
written by

```sh
python benchmarks/gallery.py
```

[reports.md](../reports.md) says what else there is: pages of HTML with these figures,
Markdown for a pull request, CSV, JSON and LaTeX.

## Table

```sh
ansor-bench show {result}
```

```
{table}
```

## Pictures
"""


def main() -> None:
    """Draw the pictures, then write the page around them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("result", type=Path, nargs="?", default=EXAMPLE)
    result = parser.parse_args().result.resolve()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        ansor_bench(["show", str(result)])
    shown = result.relative_to(ROOT).as_posix()
    page = PAGE.format(result=shown, table=out.getvalue().strip())
    for figure, told in PICTURES.items():
        words = ["plot", figure, str(result), "-o", str(GALLERY / f"{figure}.svg")]
        ansor_bench(words)
        page += f"\n![{told}]({figure}.svg)\n\n{told}: `ansor-bench plot {figure}`.\n"
    (GALLERY / "README.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
