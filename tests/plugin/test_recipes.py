"""The recipes for CI: their steps are run as the services run them, in a shell of their own."""

from __future__ import annotations

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
from tests.synthetic import make_case_result, make_result

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
#: Stands for the service's own program: keeps what it was asked to do.
GH = '#!/bin/sh\nprintf "%s\\n" "$@" > gh.txt\ncp "$5" comment.md\n'


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
        condition = step.get("if", f"github.event_name == '{event}'")
        if "run" in step and step["name"] != "install" and f"'{event}'" in condition:
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
    (folder / "bin").mkdir()
    (folder / "bin" / "gh").write_text(GH, encoding="utf-8")
    (folder / "bin" / "gh").chmod(0o755)
    values = {"github.token": "secret", "github.event.number": "7"}
    on_push = steps("verdict", "push", **values)
    assert [*on_push] == ["merge", "report", "keep main's result", "gates"]
    on_pull = steps("verdict", "pull_request", **values)
    assert [*on_pull] == ["merge", "report", "comment", "compare with main", "gates"]
    for script, env in (*on_push.values(), *on_pull.values()):
        passed(shell(folder, script, **env))
    whole = read_result(folder / "main.json")
    assert sorted(case.case for case in whole.cases) == ["a", "b"]
    assert (whole.shards, whole.lost) == (None, ())
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "| a" in (folder / "summary.md").read_text(encoding="utf-8")
    asked = (folder / "gh.txt").read_text(encoding="utf-8").split("\n")
    assert asked[:5] == ["pr", "comment", "7", "--body-file", "verdicts.md"]
    assert (folder / "comment.md").read_bytes() == (folder / "verdicts.md").read_bytes()


class Notes(BaseHTTPRequestHandler):
    """What the recipe asks of GitLab: main's result, and a note."""

    def do_GET(self):
        main = self.server.folder / "served.json"
        self.send_response(200 if main.exists() else 404)
        self.end_headers()
        if main.exists():
            self.wfile.write(main.read_bytes())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.notes.append((self.path, self.headers["PRIVATE-TOKEN"], parse_qs(body)))
        self.send_response(201)
        self.end_headers()

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
    variables = {
        "CI_API_V4_URL": f"http://127.0.0.1:{gitlab.server_port}",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "7",
        "ANSOR_BENCH_TOKEN": "secret",
    }
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
    (path, token, form), _ = gitlab.notes
    assert (path, token) == ("/projects/3/merge_requests/7/notes", "secret")
    assert form["body"][0].strip() == (folder / "verdicts.md").read_text().strip()


def test_a_broken_gate_fails_the_last_step_and_nothing_before(tmp_path):
    broken = make_case_result("a", limits=Limits({"search_ratio": 0.1}))
    write_result(make_result(broken), tmp_path / "result.json")
    on_push = steps("verdict", "push")
    passed(shell(tmp_path, on_push["report"][0]))
    assert shell(tmp_path, on_push["gates"][0]).returncode == 1
    *_, last = lines("verdict")
    assert shell(tmp_path, last).returncode == 1


def test_an_unreadable_result_fails_at_once(tmp_path):
    (tmp_path / "result.json").write_text("{", encoding="utf-8")
    assert shell(tmp_path, steps("verdict", "push")["report"][0]).returncode != 0
