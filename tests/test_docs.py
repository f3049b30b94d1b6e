"""The pages are whole: lengths, links, and the names of what they mention."""

from __future__ import annotations

import re
import shlex

import pytest

from pytest_ansorbench.cli import main, make_parser
from pytest_ansorbench.options.declarations import OPTIONS
from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.workloads import CASES
from tests.pages import REPOSITORY, blocks, commands, page, pages, prose

WIDTH = 88
RESULTS = REPOSITORY / "docs" / "results"
#: Of the form `[text](destination)`, over a line's end too.
LINK = re.compile(r"\[[^][]*\]\(([^)\s]+)\)")
#: Terms that nobody should have to guess.
TERMS = (
    "arm",
    "reference",
    "challenger",
    "control",
    "case",
    "task",
    "sketch",
    "candidate",
    "trial",
    "round",
    "run",
    "repeat",
    "seed",
    "target",
    "TVM target",
    "S",
    "S_trials",
    "S_paper",
    "S to target",
    "gain",
    "rung",
    "throughput ratio",
    "verdict",
)


def anchors(text):
    """What GitHub calls the headings of a page in links."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def expanded(text):
    """Environment names of a line of tox.ini, `a{b,c}` written out."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", text)
    return [found[1] + part + found[3] for part in found[2].split(",")] if found else [text]


def test_the_readme_is_read_in_a_minute():
    assert len(page("README.md").splitlines()) <= 120


def test_all_pages_are_read_in_an_afternoon():
    written = [name for name in pages() if name != "docs/results/README.md"]
    assert sum(len(page(name).split()) for name in written) <= 27_230


def test_lines_are_wrapped_at_one_width():
    for name in pages():
        # A link or a piece of code that does not fit stands on a line alone.
        wide = [line for line in prose(page(name)) if len(line) > WIDTH and " " in line.strip("- ")]
        assert not wide, name


def test_links_lead_somewhere():
    for name in pages():
        for destination in LINK.findall(page(name)):
            if re.match(r"https?://", destination):
                continue
            file, _, anchor = destination.partition("#")
            path = (REPOSITORY / name).parent / file if file else REPOSITORY / name
            where = f"{name}: {destination}"
            assert path.exists(), where
            assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), where


def test_files_that_are_named_exist():
    own = (REPOSITORY, REPOSITORY / "pytest_ansorbench")
    # Paths of files that a user has, or that a command writes, do not begin with one of these.
    folders = [path for root in own for path in root.iterdir() if path.is_dir()]
    ours = "|".join(path.name for path in folders if not path.name.startswith("."))
    for name in pages():
        roots = (*own, (REPOSITORY / name).parent)
        for file in re.findall(rf"`((?:{ours})/[\w./*-]+)`", page(name)):
            assert any(list(root.glob(file.rstrip("/"))) for root in roots), f"{name}: {file}"


def test_options_that_are_mentioned_exist():
    there = {option.flag for option in OPTIONS} | {"--ansor-bench", "--ansor-x-y"}
    for name in pages():
        assert set(re.findall(r"--ansor-[a-z]+(?:-[a-z]+)*", page(name))) <= there, name


def test_commands_are_understood():
    for name in pages():
        for words in map(shlex.split, commands(page(name))):
            if words[0] == "ansor-bench":
                make_parser().parse_args(words[1:])
            if "--ansor-case" in words:
                wanted = words[words.index("--ansor-case") + 1].split(",")
                assert set(wanted) <= {case.id for case in CASES}, name


def test_environments_that_are_mentioned_exist():
    sections = re.findall(r"^\[testenv:(.+)\]$", page("tox.ini"), re.M)
    there = {environment for section in sections for environment in expanded(section)}
    for name in pages():
        assert set(re.findall(r"tox -e ([\w-]+)", page(name))) <= there, name


def test_the_list_of_pages_is_complete():
    listed = set(LINK.findall(page("docs/README.md")))
    others = {name.removeprefix("docs/") for name in pages() if name.startswith("docs/")}
    assert listed == others - {"README.md"}


def test_every_column_is_explained_and_the_usual_ones_are_bold(capsys):
    section = page("docs/reading.md").split("## Columns")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\**)`(\w+)`\** \| (.*?) \|", section, re.M)
    assert [key for _, key, _ in rows] == list(COLUMNS)
    assert [key for bold, key, _ in rows if bold] == list(DEFAULT_COLUMNS)
    main(["show", str(RESULTS / "control-matmul.json.gz"), "--columns", ",".join(COLUMNS)])
    _, table, *_ = capsys.readouterr().out.split("\n\n")
    headings = re.split(r"\s{2,}", table.splitlines()[0])
    assert [heading for _, _, heading in rows] == headings


def test_every_term_is_in_the_glossary_and_in_order():
    section = page("docs/reading.md").split("## Glossary")[1]
    glossary = re.findall(r"^- \*\*(.+?)\*\*: ", section, re.M)
    terms = [term for term in glossary if "`" not in term]
    assert set(TERMS) <= set(terms)
    assert terms == sorted(terms, key=str.lower)


def test_every_figure_to_compare_is_listed():
    table = page("docs/ci.md").split("| metric |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| (`.+`) \| (same machine|anywhere) \|", table, re.M)
    listed = {name: where for names, where in rows for name in re.findall(r"\w+", names)}
    assert listed == {
        f"{of_suite}{figure.key}": "same machine" if figure.per_machine else "anywhere"
        for figure in FIGURES.values()
        for of_suite in ("", "suite_")
        if is_metric(f"{of_suite}{figure.key}")
    }


def is_metric(name):
    """Whether an allowance takes it."""
    try:
        Allowance.parse(f"{name}:5%")
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", ["docs/reading.md", "docs/research/paper.md"])
def test_recorded_tables_are_what_their_commands_print(name, capsys):
    shown, *_ = [line for line in commands(page(name)) if " show docs/results/" in line]
    words = shlex.split(shown.replace("docs/results", str(RESULTS)))
    main(words[1:])
    sentences, table, *_ = capsys.readouterr().out.split("\n\n")
    shown = {" ".join(block.split()) for block in blocks(page(name))}
    assert table.strip() in {block.strip() for block in blocks(page(name))}
    # Sentences are folded on the page.
    assert name != "docs/reading.md" or " ".join(sentences.split()) in shown


def test_the_recorded_tournament_is_what_its_command_prints(capsys):
    text = page("docs/tournament.md")
    words = shlex.split(commands(text)[0].replace("docs/results", str(RESULTS)))
    main(words[1:])
    printed = capsys.readouterr().out.split("\n\n")
    assert "\n\n".join(printed[:3]) == blocks(text)[0].strip()


def test_the_table_of_landscapes_is_what_its_command_prints(capsys):
    text = page("docs/landscapes.md")
    *words, files = shlex.split(commands(text)[0])
    assert files == "docs/results/landscapes/*.json.gz"
    assert main([*words[1:], *map(str, sorted((RESULTS / "landscapes").glob("*.json.gz")))]) == 0
    assert capsys.readouterr().out.strip() == blocks(text, "text")[0].strip()


def test_findings_are_those_of_the_recorded_table():
    tables, _ = page("docs/research/findings.md").split("## A live tournament")
    rows = [line.split("|") for line in tables.splitlines()]
    found = [[cell.strip() for cell in row[2:5]] for row in rows if "[" in "".join(row[2:5])]
    recorded = (RESULTS / "findings.txt").read_text(encoding="utf-8")
    lines = [re.split(r"  +", line)[3:] for line in recorded.splitlines()]
    assert len(found) > 9 and all(row in lines for row in found)


def test_ablations_are_those_of_the_recorded_file_with_parts_that_no_figure_speaks_for():
    section, _ = page("docs/research/draft.md").split("## Operators")
    lines = [line for line in section.splitlines() if re.match(r"\| .*\]", line)]
    rows = [[cell.strip() for cell in line.split("|")[2:5]] for line in lines]
    recorded = (RESULTS / "draft-ablations.txt").read_text(encoding="utf-8")
    arms = re.findall(r"^([\w-]+) .* over 5 cases \(S (.+?\]),", recorded, re.M)
    shares = {
        name: [cell.split()[0] for cell in cells]
        for line in recorded.splitlines()
        if line.endswith(" s)")
        for name, *cells in [re.split(r"  +", line)]
    }
    told = {name: [ratio, shares[name][2], shares[name][6]] for name, ratio in arms}
    assert len(rows) > 9 and all(row in told.values() for row in rows)
    assert told["draft-equal"] in rows and told["draft-crowded"] in rows


def test_standings_are_those_of_the_recorded_tournament():
    _, section = page("docs/research/findings.md").split("## A live tournament")
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines]
    recorded = (RESULTS / "tournament.txt").read_text(encoding="utf-8").splitlines()
    standings = [re.split(r"  +", line.strip()) for line in recorded[3 : 3 + len(rows)]]
    assert len(rows) == 12 and rows == [[*of[1:4], of[5]] for of in standings]


def test_recorded_results_are_of_the_machine_that_the_text_names():
    [machine] = read_result(RESULTS / "paper-small.json.gz").machines.values()
    assert "AMD EPYC, Zen 5" in page("docs/research/paper.md")
    assert machine["cpu"] == "AMD EPYC"
    assert '"mcpu":"znver5"' in machine["target"]
