"""The page: what is in it, and what a browser makes of it."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.cells import Seconds, Text
from pytest_ansorbench.report.render.figures import PRINT, draw
from pytest_ansorbench.report.render.html import Html
from pytest_ansorbench.report.sections import (
    Axis,
    Chart,
    Code,
    Column,
    Forest,
    GateSentence,
    Group,
    Interval,
    Lines,
    Report,
    Section,
    Series,
    Table,
)

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--enable-logging=stderr", "--virtual-time-budget=3000"),
)

CHART = Chart(
    Axis("trials"),
    Axis("best GFLOP/s"),
    (Series("default", (0, 5), (1, 2)), Series("fast", (0, 3), (1, 4))),
    (Series("fast", (0, 2), (1, 3)),),
)
TABLE = Table(
    (Column("case", "case", kind="words"), Column("time", "search time", "s")),
    (
        Group(((Text("b"), Seconds(100.0)), (Text("a"), Seconds(20.0)), (Text("c"), Seconds(3.0)))),
        Group(((Text("all"), Seconds(41.0)),), "summary"),
    ),
)


def page(*blocks: object) -> str:
    return Html().render(Report.of(Section("part", blocks)))


def test_it_takes_nothing_from_elsewhere() -> None:
    text = page(TABLE, CHART, Code("trace", "x = 1"))
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(["']?http""", text)
    assert text.count("<html") == 1 and text.endswith("</html>")


def test_outcomes_have_a_word_and_a_class() -> None:
    text = page(Lines((GateSentence("it is ", "broken"),)))
    assert '<span class="outcome broken">broken</span>' in text


def test_warnings_are_marked() -> None:
    text = page(Lines(("warning: careful",), tone="warning"))
    assert '<p class="depth-0 warning">warning: careful</p>' in text
    assert text.count("warning: ") == 1


def test_neighbours_on_the_same_case_share_a_heading_and_a_link() -> None:
    report = Report.of(
        Section("verdicts", (Lines(("all",)),)),
        Section("details", (Lines(("x",)),), subject="<b>conv</b>"),
        Section("curves", (CHART,), subject="<b>conv</b>"),
    )
    text = Html().render(report)
    assert "<title>ansor bench</title>" in text
    assert text.count("<h2>&lt;b&gt;conv&lt;/b&gt;</h2>") == 1
    [anchor] = re.findall(r'<article id="(.*?)">', text)
    assert f'<a href="#{anchor}">' in text


def test_figures_take_their_colours_from_the_page_and_share_no_id() -> None:
    forest = Forest(Axis("S"), (Interval("conv", Estimate(0.5, 0.4, 0.6)),), limit=0.9)
    text = page(CHART, CHART, forest)
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    drawings = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert "var(--c0)" in drawings and "currentColor" in drawings
    assert not re.search(r"#0[0-7]0[0-7]ff|#0a0b0c", drawings)


def test_a_series_of_one_point_is_a_mark() -> None:
    one = Series("a", (3.0,), (2.0,))
    [axes] = draw(Chart(Axis("x"), Axis("y"), (one,)), PRINT).axes
    assert "o" in [line.get_marker() for line in axes.get_lines()]


def test_long_labels_leave_half_of_a_width_to_what_is_drawn() -> None:
    label = "dilated-conv2d-n1-h14-w14-ci256-co256-k3-s1-p1-d2, optimized"
    figure = draw(Forest(Axis("S"), (Interval(label, Estimate(0.5, 0.4, 0.6)),)), PRINT)
    [axes] = figure.axes
    place = axes.get_position()
    assert place.width * figure.get_figwidth() == pytest.approx(PRINT.width_in / 2)
    assert place.x1 < 1.0


def test_bounds_and_what_is_beyond_the_axis_have_arrows() -> None:
    found = (
        Estimate(0.5, 0.4, 0.6),
        Estimate(1.8, 1.2, math.inf, "at-least"),
        Estimate(0.0, 0.0, 0.9),
        Estimate(math.inf, 1.1, math.inf),
    )
    cases = [Interval("conv", one) for one in found]
    suites = [Interval("all cases", one, "summary") for one in found]
    [axes] = draw(Forest(Axis("S"), (*cases, *suites)), PRINT).axes
    markers = [line.get_marker() for line in axes.lines]
    assert [one for one in markers if one != "None"] == [*"s><>D><>"]


def test_ticks_do_not_overlap_and_a_limit_beyond_the_axis_is_told_at_its_end() -> None:
    near, far = (Interval("conv", Estimate(value, value, value)) for value in (0.5, 0.05))
    ticks = {0.9: [0.5, 0.8, 1.0], 5.0: [0.5, 1.0, 2.0, 5.0]}
    for limit, expected in ticks.items():
        [axes] = draw(Forest(Axis("S"), (near,), limit), PRINT).axes
        assert [*axes.get_xticks()] == expected
    [axes] = draw(Forest(Axis("S"), (far,), limit=250.0), PRINT).axes
    assert [*axes.get_xticks()] == [0.1, 1.0, 10.0, 100.0]
    [text] = axes.texts
    assert (text.get_text(), text.xy[0]) == ("limit 250, beyond", 100.0)


def test_every_figure_has_its_words_and_its_numbers() -> None:
    text = page(CHART)
    assert (
        'role="img" aria-label="best GFLOP/s over trials: default ends at 2; fast ends at 4"'
        in text
    )
    assert text.index("<svg") < text.index("<table")


def test_equal_reports_make_equal_pages() -> None:
    assert page(CHART, TABLE) == page(CHART, TABLE)


SCRIPT = """
<script>
const out = {};
const body = () => [...document.querySelectorAll("table.interactive tbody.body tr")]
  .filter((row) => !row.hidden).map((row) => row.cells[0].textContent).join("");
const [words, figures] = document.querySelectorAll("table.interactive th button");
figures.click(); out.ascending = body();
figures.click(); out.descending = body();
words.click(); out.words = body();
const filter = document.querySelector(".filter input");
filter.value = "B"; filter.dispatchEvent(new Event("input")); out.filtered = body();
out.wide = document.documentElement.scrollWidth <= window.innerWidth;
out.paper = getComputedStyle(document.body).backgroundColor;
out.curves = document.querySelectorAll("svg path").length > 0;
document.title = JSON.stringify(out);
</script>
"""


def seen(path: Path, tmp_path: Path, *flags: str) -> tuple[str, str]:
    """What a browser makes of a page: the title at the end, and what went to the console."""
    done = subprocess.run(
        [
            str(BROWSER),
            *FLAGS,
            *flags,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert title is not None
    return title[1], "\n".join(console)


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [380, 1400])
def test_a_browser_sorts_filters_and_fits_it_without_an_error(tmp_path, width) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(TABLE, CHART).replace("</body>", f"{SCRIPT}</body>"))
    title, console = seen(path, tmp_path, f"--window-size={width},900")
    assert console == ""
    for fact in (
        '"ascending":"cab"',
        '"descending":"bac"',
        '"words":"abc"',
        '"filtered":"b"',
        '"wide":true',
        '"curves":true',
        '"paper":"rgb(255, 255, 255)"',
    ):
        assert fact in title


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_in_the_dark_its_paper_is_dark(tmp_path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(TABLE, CHART).replace("</body>", f"{SCRIPT}</body>"))
    title, console = seen(path, tmp_path, "--force-dark-mode", "--window-size=1400,900")
    assert console == ""
    assert '"paper":"rgb(14, 17, 22)"' in title
