"""What a large page costs: 1,000 runs of 1,000 trials as HTML, made and opened.

    pip install -e '.[report]'
    python benchmarks/report_page.py [--runs 1000] [--trials 1000] [--json FILE]

A fresh process reads such a result, judges it and writes its page, as `ansor-bench report --format
html:FILE` does. The alternative is the same report as Markdown, which draws nothing. Then Chromium,
where there is one, opens the page; its clock tells when the page was laid out and how long sorting
its first table takes. Bars: 20 s to make, 20 MB, 2 s until it can be used. A minute.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from report_scale import large_result

from pytest_ansorbench.storage import write_result

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
#: Milliseconds until the page is laid out, and those that sorting its first table takes. Both run
#: while the page is read, as the browser writes down its contents as soon as that is over.
CLOCK: Final = """
<script>
document.body.getBoundingClientRect();
const laidOut = performance.now();
document.querySelector("table.interactive th button").click();
document.body.getBoundingClientRect();
document.title = JSON.stringify([laidOut, performance.now() - laidOut]);
</script>
"""


def main() -> None:
    """Write, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="runs in all (default: 1000)")
    parser.add_argument("--trials", type=int, default=1000, help="of each run (default: 1000)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result, page = Path(folder) / "large.json", Path(folder) / "large.html"
        write_result(large_result(given.runs, given.trials), result)
        found = {
            "runs": given.runs,
            "trials": given.trials,
            "markdown_s": seconds_of(result, f"markdown:{Path(folder) / 'large.md'}"),
            "html_s": seconds_of(result, f"html:{page}"),
            "html_mb": page.stat().st_size / 1e6,
        }
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is not None:
            found["loaded_s"], found["sorted_s"] = opened(browser, page)
    print(f"{given.runs} runs of {given.trials} trials, {found['html_mb']:.1f} MB of HTML")
    print(
        f"made in {found['html_s']:.1f} s, as Markdown in {found['markdown_s']:.1f} s, ratio "
        f"{found['html_s'] / found['markdown_s']:.2f}"
    )
    if "loaded_s" in found:
        print(f"loaded after {found['loaded_s']:.2f} s, sorted in {found['sorted_s']:.2f} s")
    else:
        print("no Chromium: not opened")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def seconds_of(result: Path, output: str) -> float:
    """Seconds that a fresh process takes for a report, its start included."""
    command = [sys.executable, "-m", "pytest_ansorbench.cli", "report", str(result)]
    started = time.perf_counter()
    subprocess.run([*command, "--format", output], check=True, capture_output=True)
    return time.perf_counter() - started


def opened(browser: str, page: Path) -> tuple[float, float]:
    """Seconds until a page can be used, and seconds that sorting a table takes."""
    text = page.read_text(encoding="utf-8")
    clocked = page.with_name("clocked.html")
    clocked.write_text(text.replace("</body>", f"{CLOCK}</body>"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update"),
                *(f"--user-data-dir={profile}", "--timeout=30000", "--dump-dom"),
                clocked.as_uri(),
            ],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )
    title = re.search(r"<title>\[(.*?),(.*?)\]</title>", done.stdout)
    if title is None:
        raise SystemExit("the page did not load within 30 s")
    return float(title[1]) / 1e3, float(title[2]) / 1e3


if __name__ == "__main__":
    main()
