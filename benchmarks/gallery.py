"""The reports of recorded results in every format, for docs/gallery.

    pip install -e '.[report]'
    python benchmarks/gallery.py [--into FOLDER] [RESULT...]

Several results are put together; without any, those of `draft.py`. Where there is a Chromium,
pictures of the page are taken as well: wide, narrow, and in the dark. A minute.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from pytest_ansorbench.cli import main as ansor_bench

HERE: Final = Path(__file__).parent
DOCS: Final = HERE.parent / "docs"
ENDINGS: Final = {
    "terminal": "txt",
    "markdown": "markdown",
    "html": "html",
    "csv": "csv",
    "json": "json",
    "latex": "tex",
}
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
PICTURES: Final = {
    "wide": ("--window-size=1400,1400",),
    "narrow": ("--window-size=380,1400",),
    "dark": ("--window-size=1400,1400", "--blink-settings=preferredColorScheme=0"),
}


def main() -> None:
    """Write all formats, then take pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    recorded = sorted((DOCS / "results" / "draft-before").glob("*.json"))
    parser.add_argument("results", type=Path, nargs="*", default=recorded, metavar="RESULT")
    parser.add_argument("--into", type=Path, default=DOCS / "gallery")
    given = parser.parse_args()
    formats = [f"{name}:{given.into / f'report.{ending}'}" for name, ending in ENDINGS.items()]
    words = [word for one in formats for word in ("--format", one)]
    ansor_bench(["report", *map(str, given.results), *words])
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no Chromium: no pictures")
        return
    for name, flags in PICTURES.items():
        picture(browser, given.into / "report.html", given.into / f"{name}.png", flags)


def picture(browser: str, page: Path, path: Path, flags: tuple[str, ...]) -> None:
    """Have a browser draw a page."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-quic", "--disable-background-networking", "--hide-scrollbars"),
                *("--disable-component-update", "--disable-sync", f"--user-data-dir={profile}"),
                *flags,
                f"--screenshot={path}",
                page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
    print(f"written: {path}")


if __name__ == "__main__":
    main()
