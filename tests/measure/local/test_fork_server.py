"""The fork server: what it answers, how children end, what it says when it cannot start."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from multiprocessing.connection import wait
from pathlib import Path

import psutil
import pytest

from pytest_ansorbench.measure.local import fork_server
from pytest_ansorbench.measure.local.channel import ChannelClosed
from pytest_ansorbench.measure.local.fork_server import EngineError, ForkServer, ServerDied
from pytest_ansorbench.measure.local.interpreter import (
    Interpreter,
    anonymous_file,
    cause_of_death,
    last_words,
)
from pytest_ansorbench.measure.local.supervisor import Supervisor
from tests import interpreters
from tests.forked_servers import forked_servers
from tests.measure.local.processes import gone


@pytest.fixture(scope="module", autouse=True)
def _started_for_real():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "Interpreter", Interpreter)
        yield


@pytest.fixture(scope="module")
def server(_started_for_real):
    started = ForkServer(threads=1, memory_limit_mb=1000)
    started.wait_until_warm()
    yield started
    started.close()


def test_a_child_answers_a_bad_request_and_lives_on(server):
    child = server.fork()
    for _ in range(2):
        child.channel.send({"op": "build", "target": '{"kind": "llvm"}'}, b"no module")
        reply, _ = child.channel.receive()
        assert "error" in reply
    assert child.bury().cause == "worker exited with code 0"


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="TVM has no PyTorch to import")
def test_pytorch_is_kept_out(server):
    files = {os.path.basename(mapped.path) for mapped in psutil.Process(server.pid).memory_maps()}
    assert any("tvm" in file for file in files)
    assert not any("torch" in file for file in files)


def test_a_child_has_a_process_group_of_its_own(server):
    child = server.fork()
    assert os.getpgid(child.pid) == child.pid
    child.bury()


def test_a_suspended_child_answers_when_it_is_resumed(server):
    child = server.fork()
    child.suspend()
    child.channel.send({"op": "build", "target": '{"kind": "llvm"}'}, b"no module")
    assert not wait([child.channel.fileno()], 0.3)
    assert psutil.Process(child.pid).status() == psutil.STATUS_STOPPED
    child.resume()
    assert wait([child.channel.fileno()], 30.0)
    assert child.bury().cause == "worker exited with code 0"
    child.suspend()  # nobody's number any more
    child.resume()


def test_a_suspended_child_is_buried_and_killed_like_any_other(server):
    one, other = server.fork(), server.fork()
    one.suspend()
    other.suspend()
    assert one.bury().cause == "worker exited with code 0"
    other.kill()
    assert other.bury().cause == "worker died of SIGKILL"


def test_an_end_is_reported_with_its_signal_and_its_memory(server):
    child = server.fork()
    os.kill(child.pid, signal.SIGTERM)
    ended = child.bury()
    assert child.bury() is ended
    assert ended.cause == "worker died of SIGTERM"
    assert 1 < ended.peak_memory_mb < 10_000


def test_ends_are_told_apart_in_whatever_order_they_are_asked_for(server):
    first, second, third = (server.fork() for _ in range(3))
    second.kill()
    assert "code 0" in first.bury().cause
    assert "code 0" in third.bury().cause
    assert "SIGKILL" in second.bury().cause


def test_a_fault_of_our_own_is_told_apart_from_an_exit_in_order(server):
    child = server.fork()
    child.channel.send({"op": "no such request"})
    assert child.bury().cause == "worker exited with code 1: KeyError: 'no such request'"


def test_children_do_not_hold_each_others_channels(server):
    first = server.fork()
    second = server.fork()
    first.kill()
    with pytest.raises(ChannelClosed):  # though the second is alive
        first.channel.receive()
    first.bury()
    second.bury()


def test_a_server_that_cannot_start_says_why(monkeypatch, tmp_path):
    (tmp_path / "tvm.py").write_text("raise ImportError('no TVM today')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = ForkServer(threads=1, memory_limit_mb=1000)
    with pytest.raises(EngineError, match="ImportError: no TVM today"):
        server.wait_until_warm()
    server.close()


def test_a_server_that_dies_while_it_starts_says_how(monkeypatch, tmp_path):
    (tmp_path / "tvm.py").write_text("import os, sys; print('farewell', flush=True); os.abort()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = ForkServer(threads=1, memory_limit_mb=1000)
    with pytest.raises(EngineError, match="SIGABRT: farewell"):
        server.wait_until_warm()
    server.close()


def test_files_of_compilers_that_were_killed_go_with_the_server():
    server = ForkServer(threads=1, memory_limit_mb=1000, writes_files=True)
    server.wait_until_warm()  # while a process starts its environment may still be empty
    folder = Path(psutil.Process(server.pid).environ()["TMPDIR"])
    (folder / "left").touch()
    server.close()
    assert not folder.exists()


def test_a_server_that_is_killed_while_it_starts_is_replaced():
    started = []

    def killed():
        started.append(ForkServer(threads=1, memory_limit_mb=1000))
        psutil.Process(started[-1].pid).kill()
        return started[-1]

    supervisor = Supervisor(killed)
    with pytest.raises(EngineError, match="died 4 times in a row"):
        supervisor.renew()
    assert len(started) == supervisor.restarts == 4


WAITS = """
import sys, time
from pytest_ansorbench.measure.local.interpreter import end_with_parent
end_with_parent()
print(flush=True)
time.sleep(60)
"""
STARTS_IT = f"""
import subprocess, sys
with subprocess.Popen([sys.executable, "-c", {WAITS!r}], stdout=subprocess.PIPE) as one:
    one.stdout.readline()
    print(one.pid, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_process_can_end_with_its_parent():
    command = [sys.executable, "-c", STARTS_IT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        assert psutil.Process(child).ppid() == parent.pid
        parent.kill()
    gone([child])


def test_another_interpreter_does_not_look_for_tvm_where_this_one_does(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$PYTHONHOME$PYTHONPATH$TVM_LIBRARY_PATH$OTHERWISE"\n')
    python.chmod(0o755)
    for name in ("PYTHONHOME", "PYTHONPATH", "TVM_LIBRARY_PATH", "OTHERWISE"):
        monkeypatch.setenv(name, name)
    process = Interpreter(str(python), "some.module")
    try:
        assert process.died_of() == ("worker exited with code 0", ": OTHERWISE")
    finally:
        process.close()


def test_without_fork_nothing_is_measured(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(EngineError, match="WSL"):
        ForkServer(threads=1, memory_limit_mb=1000)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (-11, "worker died of SIGSEGV"),
        (3, "worker exited with code 3"),
        (-63, "worker died of signal 63"),
    ],
)
def test_causes_have_names(code, text):
    assert cause_of_death(code) == text


def test_last_words_are_the_last_line():
    with anonymous_file() as log:
        assert last_words(log) == ""
        log.write(b"x" * 5000 + b"\nearly\nlate\n\n")
        assert last_words(log) == ": late"


@pytest.fixture(scope="module")
def strict(_started_for_real, tmp_path_factory):
    """One of an interpreter by its path, that a user started who has made errors of warnings."""
    python = interpreters.as_it_is(tmp_path_factory.mktemp("pythons"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "error")
        started = ForkServer(threads=1, memory_limit_mb=1000, python=python)
        started.wait_until_warm()
    yield started
    started.close()


def test_it_starts_where_warnings_are_errors(strict):
    assert strict.fork().bury().cause == "worker exited with code 0"


def test_a_dead_server_is_noticed_by_whoever_asks(strict):
    child = strict.fork()
    psutil.Process(strict.pid).kill()
    with pytest.raises(ServerDied):
        child.bury()
    with pytest.raises(ServerDied):
        strict.fork()
    with pytest.raises(ServerDied):
        strict.load(b"")
    strict.close()
    strict.close()
    with pytest.raises(ServerDied):
        strict.wait_for_end(child)


def test_a_request_that_was_cut_short_is_the_servers_last(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    with forked_servers():
        server = ForkServer(threads=1, memory_limit_mb=1000)
    server.wait_until_warm()
    child = server.fork()
    with monkeypatch.context() as patch:
        patch.setattr(server, "_receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            server.fork()
    # Its reply would pass for that to the next one.
    for ask in (server.fork, child.bury):
        with pytest.raises(ServerDied):
            ask()
    server.close()
