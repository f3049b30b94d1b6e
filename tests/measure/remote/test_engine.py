"""The engine on a device: the contract of all engines, and what only a device can do to it."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.environment import MisfitError, ToolchainError, resolve_target
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.remote import relay
from pytest_ansorbench.measure.remote.engine import RemoteEngine
from pytest_ansorbench.measure.remote.libraries import linker_of
from pytest_ansorbench.measure.remote.relay_main import MODALIAS, RelayMain
from pytest_ansorbench.measure.remote.settings import RemoteSettings
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.workloads import Check
from tests.faults import kernel
from tests.forked import wait_until
from tests.liars import late, liar
from tests.measure.engine_contract import (
    MLP,
    QUICK,
    TWO_SETS,
    Comparing,
    EngineContract,
    TurnsContract,
    measured,
)
from tests.measure.local.test_side_by_side import ONE_SET, disturbed
from tests.measure.remote import devices
from tests.relax_modules import relax_module

SETTINGS = EngineSettings(build_timeout_s=3, run_timeout_s=1)


def make_engine(tracker, key=devices.KEY, patience_s=5.0, **remote):
    """An engine on a device; a session that hangs ends after 4 s."""
    address = devices.address(tracker, key)
    settings = RemoteSettings(tracker=address, patience_s=patience_s, **remote)
    return RemoteEngine(resolve_target(None), SETTINGS, settings)


@pytest.fixture(scope="module")
def engine(tracker, both):
    with make_engine(tracker, patience_s=20.0) as started:
        yield started


class TestContract(EngineContract):
    """What every engine has to do."""


@pytest.mark.slow
class TestTurns(TurnsContract):
    """How programs take turns."""


def test_it_says_what_the_device_is(engine):
    assert engine.machine["cpu"]
    assert engine.machine["logical_cores"] >= 1
    assert engine.machine["device"] == devices.KEY
    assert "127.0.0.1" not in str(dict(engine.machine))


def test_one_device_is_leased_and_the_other_stays_free(engine, tracker, check):
    assert measured(engine, ["fine"], check)[0].status == "ok"
    assert devices.queue(tracker).free == 1


def test_a_new_session_is_with_the_same_device(engine, tracker, check):
    seen = set()
    for _ in range(4):
        engine.measure_side_by_side([kernel("fine")] * 2, check, TWO_SETS)
        seen.add(engine._relays._lease._device)
    assert len(seen) == 1


def test_the_device_is_given_back(tracker, both, check):
    with make_engine(tracker) as own:
        assert measured(own, ["fine"], check)[0].status == "ok"
        free = devices.queue(tracker).free
    wait_until(lambda: devices.queue(tracker).free > free)


def test_a_kernel_that_hangs_costs_its_time_limit_and_nothing_that_was_built(engine, check):
    started_s = time.monotonic()
    kinds = ("fine", "hang", "fine")
    incumbent, hung, built = engine.build([kernel(kind) for kind in kinds], check)
    incumbent = engine.run(incumbent, Comparing()).kept
    failed = engine.run(hung, Comparing(), best_s=1.0, incumbent=incumbent)
    assert (failed.status, failed.error) == ("run-timeout", "no result after 1 s")
    # What was uploaded to the session that is lost is uploaded again.
    assert built.handle.uploaded_to is not None
    assert built.handle.uploaded_to is not engine._relays.living()
    outcome = engine.run(built, Comparing(), best_s=1.0, incumbent=incumbent)
    assert (outcome.status, outcome.lost_incumbent) == ("ok", False)
    for kept in (incumbent, outcome.kept):
        engine.discard(kept)
    # The device ends the session when its own limit is over.
    assert time.monotonic() - started_s < 15


def test_what_fails_beside_others_fails_alone(engine, check):
    fine, hung, other = engine.measure_side_by_side(
        [kernel("fine"), kernel("hang"), kernel("fine")],
        check,
        dataclasses.replace(TWO_SETS, sets=dataclasses.replace(TWO_SETS.sets, least=1, most=1)),
    )
    assert [one.status for one in (fine, hung, other)] == ["ok", "run-timeout", "ok"]
    assert len(fine.latencies_s) == len(other.latencies_s)


def test_a_builder_that_is_killed_once_costs_nothing(engine, check, monkeypatch):
    build, asked = engine._builder.build, []

    def killed_once(programs, check):
        asked.append(len(programs))
        built = build(programs, check)
        if len(asked) == 1:
            built[0] = Built("build-error", 0.0, error="SIGKILL", was_killed=True)
        return built

    monkeypatch.setattr(engine._builder, "build", killed_once)
    outcomes = engine.measure_side_by_side([kernel("fine")] * 2, check, TWO_SETS)
    assert [one.status for one in outcomes] == ["ok", "ok"]
    assert [one for one in asked if one] == [2, 1]


def test_a_session_whose_process_is_killed_costs_a_set_which_counts_once(engine, check):
    kills = iter([1])
    effort = disturbed(
        ONE_SET, in_turn=lambda turn: next(kills, 0) and engine._relays.living().child.kill()
    )
    outcomes = engine.measure_side_by_side([kernel("fine")] * 2, check, effort)
    assert [one.status for one in outcomes] == ["ok", "ok"]
    assert next(kills, None) is None


def test_a_set_that_outlasts_its_session_goes_on_in_another(engine, check):
    sessions = []

    def age(turn):
        sessions.append(engine._relays.living())
        sessions[-1].old_s = 0.0

    effort = disturbed(ONE_SET, in_turn=age)
    outcomes = engine.measure_side_by_side([kernel("fine")] * 2, check, effort)
    assert [one.status for one in outcomes] == ["ok", "ok"]
    assert len({*sessions}) == 3


def test_what_is_verified_in_a_new_session_is_called_there_first(engine, check):
    [built] = engine.build([kernel("fine")], check)
    program = built.handle
    program.allow(30.0)
    program.make_arguments()
    program.first_call()
    engine._relays.fresh(check)
    program.verify()
    engine.discard(built)


def test_a_device_that_is_killed_and_a_kernel_that_crashes_cost_the_session(tracker, check):
    with (
        devices.server(tracker, "frail") as device,
        make_engine(tracker, "frail", patience_s=0.5) as own,
    ):
        assert measured(own, ["fine"], check)[0].status == "ok"
        [built, later] = own.build([kernel("fine")] * 2, check)

        class Killing(FixedMeasurement):
            def measure(self, timed, best_s):
                device.end()
                return super().measure(timed, best_s)

        assert own.run(built, Killing()).status == "run-error"
        with pytest.raises(EngineError, match=r"no device 'frail' was free at 127\.0\.0\.1"):
            own.run(later, QUICK)
        with devices.server(tracker, "frail") as other:
            own._relays._lease.lose()
            assert own.run(later, QUICK).status == "ok"
            # TVM's Python server does not outlive a session that crashed; another device goes on.
            restarts = own.restarts
            [crashed] = measured(own, ["crash"], check)
            assert crashed.status == "run-error"
            assert own.restarts == restarts + 1
            other.process.wait(30)  # so that a loop starts another


def test_a_device_that_falls_silent_during_an_upload_costs_the_session(check, monkeypatch):
    """However many programs are built meanwhile: more than a channel takes."""
    monkeypatch.setattr(relay, "_OPEN_S", 2.0)
    lasting = dataclasses.replace(SETTINGS, run_timeout_s=30)
    with devices.lone_server() as device, lone_engine(device.port, settings=lasting) as own:
        own._relays.ready(check)
        for process in (device.process, *device.process.children(recursive=True)):
            process.suspend()
        killed_in_the_end = threading.Timer(30.0, device.end)
        killed_in_the_end.start()
        built = own.build([kernel("fine")] * 24, check)
        assert killed_in_the_end.is_alive()
        killed_in_the_end.cancel()
        assert {one.status for one in built} == {"ok"}
        assert own.restarts == 1


@pytest.mark.parametrize("asked", [None, 3])
def test_as_many_programs_compile_at_a_time_as_are_asked_for_or_as_cores_are_here(tracker, asked):
    here = usable_cores().count
    target = resolve_target(f'{{"kind": "llvm", "num-cores": {here + 1}}}')
    settings = dataclasses.replace(SETTINGS, build_workers=asked)
    own = RemoteEngine(target, settings, RemoteSettings(tracker=devices.address(tracker)))
    assert own._builder._at_a_time == (asked or here)


def test_a_tracker_without_devices_is_waited_for_and_given_up(tracker, check):
    own = make_engine(tracker, "nothing", patience_s=0.5)
    with pytest.raises(EngineError, match=r"no device 'nothing' was free at .* for 0\.5 s"):
        own.build([kernel("fine")], check)


def test_no_tracker_is_told(check):
    nowhere = dataclasses.replace(devices.DeviceAddress("127.0.0.1", devices.free_port(), "x"))
    own = RemoteEngine(resolve_target(None), SETTINGS, RemoteSettings(tracker=nowhere))
    with pytest.raises(EngineError, match=r"no tracker at 127\.0\.0\.1"):
        own.build([kernel("fine")], check)


def test_a_single_server_needs_no_tracker(check):
    with devices.lone_server() as device, lone_engine(device.port) as own:
        assert measured(own, ["fine"], check)[0].status == "ok"
        np.testing.assert_allclose(*own.outputs(kernel("fine"), check).given, check.expected)


def lone_engine(port, patience_s=60.0, settings=SETTINGS):
    server = devices.DeviceAddress("127.0.0.1", port)
    remote = RemoteSettings(server=server, patience_s=patience_s)
    return RemoteEngine(resolve_target(None), settings, remote)


def test_a_single_server_that_does_not_listen_yet_is_waited_for(check):
    port, begun = devices.free_port(), []
    begins = threading.Timer(0.5, lambda: begun.append(devices.started("be_a_device", port=port)))
    try:
        with lone_engine(port, patience_s=20.0) as own:
            begins.start()
            assert measured(own, ["fine"], check)[0].status == "ok"
    finally:
        begins.join()
        begun[0].end()


def test_a_single_server_that_is_not_there_is_given_up(check):
    with (
        lone_engine(devices.free_port(), patience_s=0.5) as own,
        pytest.raises(EngineError, match=r"no session with 127\.0\.0\.1:\d+: \w"),
    ):
        own.build([kernel("fine")], check)


def test_it_is_told_how_the_process_ended_that_was_to_talk_to_a_device(check, monkeypatch):
    with lone_engine(devices.free_port(), patience_s=20.0) as own:
        fork = own.supervisor.fork

        def killed(*given):
            child = fork(*given)
            child.kill()
            return child

        monkeypatch.setattr(own.supervisor, "fork", killed)
        with pytest.raises(EngineError, match=r"no session with .*: worker died of SIGKILL"):
            own._relays.ready(check)
        os.kill(own.supervisor.server.pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="describe itself: the process that talks to it is"):
            dict(own.machine)


def test_a_single_server_with_a_key_is_not_waited_for(check):
    with devices.lone_server("other") as device, lone_engine(device.port, 20.0) as own:
        started_s = time.monotonic()
        with pytest.raises(EngineError, match="cannot find server that matches"):
            own.build([kernel("fine")], check)
        assert time.monotonic() - started_s < 15


def test_a_single_server_that_a_kernel_keeps_busy_is_waited_for(check, monkeypatch):
    """Until its session's own limit."""
    with devices.lone_server() as device, lone_engine(device.port) as own:
        hung, fine = own.build([kernel("hang"), kernel("fine")], check)
        assert own.run(hung, QUICK).status == "run-timeout"
        monkeypatch.setattr(relay, "_OPEN_S", 2.0)
        assert own.run(fine, QUICK).status == "ok"


def test_a_linker_that_is_not_there_is_told(tracker):
    with pytest.raises(ToolchainError, match="bad linker 'nowhere-gcc': there is no such command"):
        make_engine(tracker, linker="nowhere-gcc")


@pytest.mark.parametrize(
    ("triple", "linker"),
    [
        ("x86_64-pc-linux-gnu", "cc"),
        ("aarch64-unknown-linux-gnu", "aarch64-linux-gnu-gcc"),
        ("riscv64-linux-gnu", "riscv64-linux-gnu-gcc"),
        ("armv7l-linux-gnueabihf", "arm-linux-gnueabihf-gcc"),
    ],
)
def test_a_linker_is_found_by_triple(triple, linker, monkeypatch):
    from tvm.target import Target

    monkeypatch.setattr("tvm.target.codegen.llvm_get_system_triple", lambda: "x86_64-conda-linux")
    assert linker_of(Target({"kind": "llvm", "mtriple": triple})) == linker


def test_a_linker_that_is_missing_is_named_with_its_package(tracker, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    target = '{"kind": "llvm", "mtriple": "aarch64-unknown-linux-gnu", "mcpu": "cortex-a72"}'
    settings = RemoteSettings(tracker=devices.address(tracker))
    with pytest.raises(
        ToolchainError,
        match=r"bad linker 'aarch64-linux-gnu-gcc': .* links for aarch64-unknown-linux-gnu, "
        r"e\.g\. aarch64-linux-gnu-gcc \(Debian's package gcc-aarch64-linux-gnu\)",
    ):
        RemoteEngine(resolve_target(target), SETTINGS, settings)


def test_a_network_may_have_more_constants_than_a_kernel_may_write(engine):
    from tvm import relax

    constant = np.arange(600 * 512, dtype=np.float32).reshape(600, 512)
    module = relax_module(
        lambda relax, builder, x: relax.op.add(x, relax.const(constant)),
        ("x", constant.shape, "float32"),
    )
    network = Program.network(relax.transform.LegalizeOps()(module))
    [found] = engine.outputs(network, Check((np.ones_like(constant),), ())).given
    np.testing.assert_array_equal(found, constant + 1)


def test_servers_are_told_whole_seconds(monkeypatch):
    import tvm

    told = []

    def connect(*where, session_timeout):
        told.append(session_timeout)
        return SimpleNamespace(device=tvm.device)

    monkeypatch.setattr("tvm.rpc.connect", connect)
    RelayMain(None, None).open("127.0.0.1", 1, "key", 2.5, 0.0, "cpu")
    assert [*map(str, told)] == ["3"]


def test_a_gpu_whose_cache_a_copy_does_not_empty_is_refused(monkeypatch):
    cold = dataclasses.replace(SETTINGS, caches="cold")
    remote = RemoteSettings(server=devices.DeviceAddress("127.0.0.1", devices.free_port()))
    own = RemoteEngine(resolve_target("nvidia/nvidia-a100"), cold, remote)
    told = {"gpu": {"arch": "sm_80", "l2_bytes": 126_000_000}}
    session = SimpleNamespace(allow=lambda seconds: None, ask=lambda message: (told, b""))
    monkeypatch.setattr(own._relays, "ready", lambda check: session)
    with pytest.raises(MisfitError, match="126 MB, expected at least 126"):
        dict(own.machine)


def test_a_session_lasts_as_long_as_a_network_may_take(engine, monkeypatch):
    asked = []
    offer = engine._lease.offer
    monkeypatch.setattr(engine._lease, "offer", lambda s: (asked.append(s), offer(s))[1])
    network = Program.network(MLP.program())
    check = Check(MLP.arguments(), ())
    [built] = engine.build([network], check)
    engine.discard(built)
    assert asked == [4 * SETTINGS.run_timeout_s * network.functions]


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not Path(MODALIAS).exists(),
    reason="a device is known to be emulated where Linux says that it runs on x86",
)
def test_an_emulator_is_known_by_the_processor_that_linux_runs_on(engine, tracker):
    assert engine.machine["emulated"] is False
    target = '{"kind": "llvm", "mtriple": "riscv64-linux-gnu", "mcpu": "sifive-u74"}'
    remote = RemoteSettings(tracker=devices.address(tracker), linker="cc")
    with RemoteEngine(resolve_target(target), SETTINGS, remote) as other:
        assert other.machine["emulated"] is True


def test_a_linker_that_fails_fails_the_program(engine, check, monkeypatch):
    linked = engine._builder._handle_of.__self__
    monkeypatch.setattr(linked, "_command", ["cc", "-lnothing-of-that-name"])
    [built] = engine.build([kernel("fine")], check)
    assert built.status == "build-error"
    assert "nothing-of-that-name" in built.error


def test_the_fork_server_may_die(engine, check):
    os.kill(engine.supervisor.server.pid, signal.SIGKILL)
    assert measured(engine, ["fine"], check)[0].status == "ok"


def test_programs_are_uploaded_while_others_compile(engine, check):
    built = engine.build([kernel("fine"), kernel("wrong"), kernel("fine")], check)
    programs = [one.handle for one in built]
    session = engine._relays.ready(check)
    assert all(program.uploaded_to is session for program in programs)
    assert not any(program._loaded_in for program in programs)
    engine.discard(built[0])
    assert programs[0].uploaded_to is None
    outcomes = [engine.run(one, QUICK) for one in built[1:]]
    assert [one.status for one in outcomes] == ["wrong-result", "ok"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("lazy", "called once more, 64 of 64 elements differ"),
        ("reciting", "not in every call does it compute the same"),
        ("unsteady", "64 of 64 elements differ"),
        ("scribbling", "the kernel wrote to its input 0"),
        ("late", "still wrote to its output after it had returned|64 of 64 elements differ"),
    ],
)
def test_a_liar_on_a_device_is_a_failed_trial(engine, check, tmp_path, kind, reason):
    [built] = engine.build([late(tmp_path) if kind == "late" else liar(kind)], check)
    outcome = engine.run(built, QUICK, best_s=1.0)
    assert outcome.status == "wrong-result"
    assert re.search(reason, outcome.error)
