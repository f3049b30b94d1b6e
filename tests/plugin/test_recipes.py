"""The recipes for CI: their steps are run as the services run them, in a shell of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import read_result, write_result
from tests.pages import REPOSITORY
from tests.plugin.project import environment
from tests.saved_cases import SAVED, result_of
from tests.synthetic import make_case_result, make_result, named

yaml = pytest.importorskip("yaml")

RECIPES = REPOSITORY / "docs" / "ci"
GITHUB = yaml.safe_load((RECIPES / "github.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((RECIPES / "gitlab.yml").read_text(encoding="utf-8"))
CASE = """
import pytest
from tests.saved_cases import SAVED

@pytest.mark.ansor_bench(max_early_search_ratio=0.9)
def test_case(ansor_bench):
    ansor_bench(SAVED[{index}])
"""
TESTS = ("test_matmul.py", "test_conv1d.py")
VALUES = {"github.token": "secret", "github.event.number": "7"}
#: Stands for the service's own program: keeps comments, and refuses what the service refuses.
GH = """#!/usr/bin/env python3
import json, subprocess, sys
from pathlib import Path

here = Path(__file__).parent
kept, mode = here / "comments.json", (here / "mode").read_text()
comments = json.loads(kept.read_text())
words = sys.argv[1:]
method = words[words.index("--method") + 1] if "--method" in words else "GET"
path = words[-1]
assert words[0] == "api" and path.startswith("repos/owner/project/issues/"), words
if mode == "gone" or (mode == "fork" and method != "GET"):
    sys.exit("gh: Resource not accessible by integration (HTTP 403)")
if method == "GET":
    assert path == "repos/owner/project/issues/7/comments" and "--paginate" in words
    asked = words[words.index("--jq") + 1]
    for page in (comments[:2], comments[2:]):
        subprocess.run(["jq", "-r", asked], input=json.dumps(page), text=True, check=True)
    sys.exit()
name, _, file = words[words.index("--field") + 1].partition("=@")
body = Path(file).read_text(encoding="utf-8")
assert name == "body"
if len(body) > 65_536:
    sys.exit("gh: Body is too long (maximum is 65536 characters) (HTTP 422)")
if method == "POST":
    assert path == "repos/owner/project/issues/7/comments"
    comments.append({"id": 100 + len(comments), "user": {"type": "Bot"}, "body": body})
else:
    assert method == "PATCH"
    [one] = [one for one in comments if path.endswith(f"/comments/{one['id']}")]
    one["body"] = body
kept.write_text(json.dumps(comments))
"""
MARK = "<!-- ansor-bench -->"
ON_GITHUB = {
    "GITHUB_REPOSITORY": "owner/project",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_RUN_ID": "12",
}


class GitHub:
    """What a fake service has in store, in a folder."""

    def __init__(self, folder, mode="usual"):
        self.bin, self.folder = folder / "bin", folder
        self.bin.mkdir()
        (self.bin / "gh").write_text(GH, encoding="utf-8")
        (self.bin / "gh").chmod(0o755)
        (self.bin / "mode").write_text(mode)
        self.keep()

    def keep(self, *comments):
        (self.bin / "comments.json").write_text(json.dumps(comments))

    @property
    def comments(self):
        return json.loads((self.bin / "comments.json").read_text())

    def comment(self):
        """Run the step that comments."""
        script, env = steps("verdict", "pull_request", **VALUES)["comment"]
        return shell(self.folder, script, **ON_GITHUB, **env)


@pytest.fixture
def tuned(project):
    """A project with two cases, and recorded runs of both."""
    project.write("conftest.py", "")
    (project.root / "test_cases.py").unlink()
    project.write("pytest.ini", "[pytest]\nansor_replay = saved.json\nansor_noise_check = 0\n")
    for index, name in enumerate(TESTS):
        project.write(name, CASE.format(index=index))
    write_result(result_of(SAVED), project.root / "saved.json")
    return project


def shell(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run lines as a service does: the first that fails ends them."""
    path = os.pathsep.join((str(folder / "bin"), str(Path(sys.executable).parent), os.defpath))
    summary = str(folder / "summary.md")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, **variables, "PATH": path, "GITHUB_STEP_SUMMARY": summary},
        capture_output=True,
        text=True,
        timeout=300,
    )


def passed(completed: subprocess.CompletedProcess[str]) -> None:
    assert completed.returncode == 0, completed.stdout + completed.stderr


def steps(job: str, event: str, **values: str) -> dict[str, tuple[str, dict[str, str]]]:
    """The lines of each step of a job of GitHub's that an event runs, and its variables.

    Installing is what `tox` did for this test.
    """

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda name: values[name[1]], str(text))

    found = {}
    for step in GITHUB["jobs"][job]["steps"]:
        condition = step.get("if", "")
        runs = "event_name" not in condition or f"'{event}'" in condition
        if "run" in step and step["name"] != "install" and runs:
            env = {name: filled(value) for name, value in step.get("env", {}).items()}
            found[step["name"]] = (filled(step["run"]), env)
    return found


def lines(job: str) -> list[str]:
    """The lines of a job of GitLab's."""
    return GITLAB[job]["script"]


@pytest.mark.slow
def test_the_steps_of_github_tune_report_compare_and_comment(tuned):
    folder = tuned.root
    for shard in GITHUB["jobs"]["tune"]["strategy"]["matrix"]["shard"]:
        [(script, _)] = steps("tune", "push", **{"matrix.shard": str(shard)}).values()
        passed(shell(folder, script, **environment()))
        assert read_result(folder / f"shard-{shard}.json").shards.there == (shard,)
    github = GitHub(folder)
    on_push = steps("verdict", "push", **VALUES)
    assert [*on_push] == ["merge", "report", "keep main's result", "gates"]
    on_pull = steps("verdict", "pull_request", **VALUES)
    assert [*on_pull] == ["merge", "report", "comment", "compare with main", "gates"]
    for script, env in (*on_push.values(), *on_pull.values()):
        passed(shell(folder, script, **ON_GITHUB, **env))
    whole = read_result(folder / "main.json")
    assert sorted(case.case for case in whole.cases) == ["a", "b"]
    assert (whole.shards, whole.lost) == (None, ())
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "| a" in (folder / "summary.md").read_text(encoding="utf-8")
    [comment] = github.comments
    assert comment["body"].startswith(f"{MARK}\n\n") and "| a" in comment["body"]
    link = "[whole report](https://github.com/owner/project/actions/runs/12)"
    assert comment["body"].rstrip().endswith(link)


OTHERS = (
    {"id": 1, "user": {"type": "Bot"}, "body": "coverage"},
    {"id": 2, "user": {"type": "User"}, "body": f"{MARK} said somebody"},
    {"id": 3, "user": {"type": "User"}, "body": f"see {MARK}"},
)
takes_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="gh has jq in it, this one not")


@takes_jq
def test_each_push_changes_the_one_comment_and_no_other(tmp_path):
    github = GitHub(tmp_path)
    github.keep(*OTHERS)
    for push in ("first", "second", "third"):
        (tmp_path / "comment.md").write_text(f"{MARK}\n\n{push}\n")
        passed(github.comment())
        *others, own = github.comments
        assert others == [*OTHERS]
        assert own["body"].startswith(f"{MARK}\n\n{push}\n\n[whole report]")


@takes_jq
@pytest.mark.parametrize("mode", ["fork", "gone", "too long"])
def test_without_a_comment_the_job_goes_on_with_a_warning(tmp_path, mode):
    github = GitHub(tmp_path, mode)
    github.keep(*OTHERS)
    body = "x" * (65_536 if mode == "too long" else 10)
    (tmp_path / "comment.md").write_text(f"{MARK}\n\n{body}\n")
    outcome = github.comment()
    passed(outcome)
    assert outcome.stdout.startswith("::warning title=ansor-bench::no comment was written")
    assert github.comments == [*OTHERS]


@pytest.mark.slow
@takes_jq
def test_a_result_of_hundreds_of_cases_is_commented(tmp_path):
    broken = make_case_result(limits=Limits({"search_ratio": 0.1}))
    cases = [named(broken, f"conv2d-{'n' * 60}-{at}") for at in range(150)]
    write_result(make_result(*cases), tmp_path / "result.json")
    github = GitHub(tmp_path)
    script, env = steps("verdict", "pull_request", **VALUES)["report"]
    passed(shell(tmp_path, script.replace("ansor-bench report", "true"), **env))
    passed(github.comment())
    [comment] = github.comments
    assert " cases of the table" in comment["body"]
    assert (tmp_path / "summary.md").stat().st_size < 2**20


class Notes(BaseHTTPRequestHandler):
    """What the recipe asks of GitLab: main's result, and notes, two of which are a page."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.endswith("/notes"):
            page = int(parse_qs(query)["page"][0])
            found = self.server.notes[2 * page - 2 : 2 * page]
            more = len(self.server.notes) > 2 * page
            self._reply(200, json.dumps(found).encode(), str(page + 1) if more else "")
        elif (main := self.server.folder / "served.json").exists():
            self._reply(200, main.read_bytes())
        else:
            self._reply(404)

    def do_POST(self):
        self._take(lambda body: self.server.notes.append({"id": len(self.server.notes), **body}))

    def do_PUT(self):
        number = int(self.path.rpartition("/")[2])
        self._take(self.server.notes[number].update)

    def _take(self, write):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("/notes")[0]
        allowed = self.headers["PRIVATE-TOKEN"] == "secret"
        if allowed and path == "/projects/3/merge_requests/7" and len(body["body"]) <= 1_000_000:
            write(body)
            self._reply(201, b"{}")
        else:
            self._reply(403)

    def _reply(self, code, content=b"", next_page=""):
        self.send_response(code)
        self.send_header("X-Next-Page", next_page)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        """Quiet."""


@pytest.fixture
def gitlab(tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Notes)
    server.folder, server.notes = tmp_path, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="the recipe takes curl")
@pytest.mark.slow
def test_the_lines_of_gitlab_do_the_same(gitlab, tmp_path, tuned):
    variables = on_gitlab(gitlab)
    folder, jobs = tuned.root, GITLAB["tune"]["parallel"]
    for index in range(1, jobs + 1):
        tune = {"CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(jobs)}
        passed(shell(folder, "\n".join(lines("tune")), **environment(**tune)))
    first = shell(folder, "\n".join(lines("verdict")), **variables)
    passed(first)
    assert "main has no result yet" in first.stdout
    shutil.copy(folder / "result.json", tmp_path / "served.json")
    second = shell(folder, "\n".join(lines("verdict")), **variables)
    passed(second)
    assert "now / before" in second.stdout
    [note] = gitlab.notes
    assert note["body"] == (folder / "comment.md").read_text(encoding="utf-8")


def on_gitlab(server, token="secret"):
    return {
        "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "7",
        "ANSOR_BENCH_TOKEN": token,
    }


def noting():
    """The lines of GitLab's job that write a note."""
    [found] = [line for line in lines("verdict") if "/notes" in line]
    return found


def test_each_push_changes_the_one_note_and_no_other(gitlab, tmp_path):
    others = [{"id": at, "body": f"note {at}"} for at in range(5)]
    gitlab.notes += others
    for push in ("first", "second", "third"):
        (tmp_path / "comment.md").write_text(f"{MARK}\n\n{push}\n")
        passed(shell(tmp_path, noting(), **on_gitlab(gitlab)))
        assert gitlab.notes == [*others, {"id": 5, "body": f"{MARK}\n\n{push}\n"}]


def test_without_a_note_the_job_goes_on_and_says_so(gitlab, tmp_path):
    (tmp_path / "comment.md").write_text(f"{MARK}\n\ntext\n")
    for variables in (on_gitlab(gitlab, token=""), {"CI_MERGE_REQUEST_IID": "7"}):
        outcome = shell(tmp_path, noting(), **variables)
        passed(outcome)
        assert outcome.stdout == "no note was written\n"
    assert gitlab.notes == []
    no_request = shell(tmp_path, noting(), CI_MERGE_REQUEST_IID="")
    assert (no_request.returncode, no_request.stdout) == (0, "")


def test_a_broken_gate_fails_the_last_step_and_nothing_before(tmp_path):
    broken = make_case_result("a", limits=Limits({"search_ratio": 0.1}))
    write_result(make_result(broken), tmp_path / "result.json")
    on_push = steps("verdict", "push")
    reported = shell(tmp_path, on_push["report"][0].replace("ansor-bench report", "true"))
    passed(reported)
    assert "broken" in reported.stdout
    script = on_push["gates"][0]
    assert shell(tmp_path, script).returncode == 1
    gates = GITHUB["jobs"]["verdict"]["steps"][-1]
    assert (gates["name"], gates["if"]) == ("gates", "${{ !cancelled() }}")
    *_, last = lines("verdict")
    assert last.strip() == script.strip()


def test_an_unreadable_result_fails_at_once(tmp_path):
    (tmp_path / "result.json").write_text("{", encoding="utf-8")
    assert shell(tmp_path, steps("verdict", "push")["report"][0]).returncode != 0
