"""Kernels of several toolchains side by side: real ones, and those that cannot be had."""

from __future__ import annotations

import dataclasses
import json
from contextlib import closing

import pytest

from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.environment import MisfitError, ToolchainError, resolve_target
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.toolchains import LocalToolchains, local_toolchains
from pytest_ansorbench.measure.program import KernelJob, SavedKernel
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.packed import deflated, inflated, pack_program, pack_schedule
from pytest_ansorbench.workloads import BatchMatmul
from pytest_ansorbench.workloads.definition import definition_of
from tests import interpreters
from tests.fast_engine import FastEngine
from tests.faults import Doubling, counting, module
from tests.lasting_servers import lasting_servers
from tests.measure.local.processes import gone, server, workers
from tests.measure.local.test_side_by_side import ONE_SET, TWO_SETS, disturbed

SETTINGS = EngineSettings(build_timeout_s=3, run_timeout_s=3)
TASK = Doubling().tasks()[0]
PRODUCT = BatchMatmul(batch=1, m=48, n=16, k=24)  # of a shape that is not listed


def saved(kind):
    """A kernel of `tests.faults` as a schedule of `Doubling`."""
    return saved_module(module(kind))


def saved_module(mod):
    from tvm.s_tir import Schedule

    schedule = Schedule(mod)
    return SavedKernel(pack_program(TASK.mod), pack_schedule(schedule.trace, schedule.mod))


@pytest.fixture(scope="module")
def pair(engine, tmp_path_factory):
    """This interpreter under another path, and as it is."""
    python = interpreters.as_it_is(tmp_path_factory.mktemp("pythons"))
    other = LocalEngine(engine.target, SETTINGS, Toolchain("against", python=python))
    with closing(other):
        yield LocalToolchains(engine, [other, engine])


@pytest.fixture
def warm():
    """New servers need not start."""
    with lasting_servers():
        yield


def rebuild(toolchains, *kernels, effort=ONE_SET, note=lambda text: None):
    """What kernels come to with each toolchain; each set has fork servers to start."""
    jobs = [KernelJob((kernel,) * len(toolchains.machines), TASK.check) for kernel in kernels]
    done = dict(toolchains.rebuild(jobs, effort, note))
    return [done[place] for place in range(len(jobs))]


def misfit():
    """A schedule that does not apply to its program."""
    from tvm.s_tir import Schedule

    schedule = Schedule(TASK.mod)
    block = schedule.get_sblock("doubled")
    schedule.split(schedule.get_loops(block)[0], [8, 8])
    text = inflated(pack_schedule(schedule.trace, schedule.mod)).replace("doubled", "renamed")
    return SavedKernel(pack_program(TASK.mod), deflated(text))


def test_kernels_are_measured_slice_by_slice_in_sets_with_servers_of_their_own(pair, engine):
    said, servers = [], []
    effort = disturbed(TWO_SETS, in_turn=lambda turn: servers.append(server(engine).pid))
    kernels = [saved(kind) for kind in ("fine", "wrong", "fine")]
    rebuilt = rebuild(pair, *kernels, effort=effort, note=said.append)
    assert [one.measured.status for one, _ in rebuilt] == ["ok", "wrong-result", "ok"]
    assert said == ["set 1: 3 of 3 kernels", "set 2: 2 of 3 kernels"]
    assert len(dict.fromkeys(servers)) == 2
    for one, other in (rebuilt[0], rebuilt[2]):
        for made in (one, other):
            assert made.measured.sets == (0, 0, 0, 1, 1, 1)
            assert len(made.build_s) == 2 and min(made.build_s) > 0
            assert made.code_bytes > 500
        assert sorted((*one.measured.places, *other.measured.places)) == [*range(12)]
        assert one.code_bytes == other.code_bytes


def unreadable(definition, paths=()):
    """A kernel of a product, whose program is of another version of TVM."""
    from tvm.s_tir import Schedule

    [task] = PRODUCT.tasks()
    tiled = Schedule(task.mod)
    tiled.split(tiled.get_loops(tiled.get_sblock("matmul"))[1], [None, 8])
    text = pack_schedule(tiled.trace, tiled.mod)
    return SavedKernel(deflated('{"root_index": 0}'), text, definition, paths)


@pytest.fixture
def mine(tmp_path):
    """A module of a project that defines the product, and imports another one."""
    path = tmp_path / "mine.py"
    path.write_text("from beside_mine import Product\nMINE = Product(batch=1, m=48, n=16, k=24)\n")
    beside = "from pytest_ansorbench.workloads import BatchMatmul as Product\n"
    path.with_name("beside_mine.py").write_text(beside)
    return path


def test_a_program_of_another_tvm_is_made_anew_by_its_case(pair, warm, mine):
    own = {"module": "mine", "name": "MINE", "file": str(mine)}
    kernels = [
        unreadable(definition_of(PRODUCT)),
        unreadable({"named": own}, [str(mine.parent)]),
        unreadable(None),
    ]
    jobs = [KernelJob((kernel,) * 2, PRODUCT.check()) for kernel in kernels]
    made = dict(pair.rebuild(jobs, ONE_SET))
    for place in (0, 1):
        assert [one.measured.status for one in made[place]] == ["ok", "ok"]
    for one in made[2]:
        assert one.measured.status == "build-error"
        assert "cannot be read by this version of TVM" in one.measured.error
        assert "a shipped case would make it anew, or with pytest one" in one.measured.error


def test_they_say_what_they_are(pair):
    assert [*pair.machines] == ["against", "today"]
    for machine in pair.machines.values():
        assert machine["packages"]["apache-tvm"] and machine["target"]
        assert machine["changes"] == {"target": {}, "passes": {}}


def test_a_kernel_that_fails_costs_itself_alone(pair, warm, monkeypatch):
    hasty = dataclasses.replace(SETTINGS, run_timeout_s=1.5)
    monkeypatch.setattr(pair.own.runner, "_settings", hasty)
    failures = {
        "wrong": ("wrong-result", ""),
        "crash": ("run-error", "SIG"),
        "hang": ("run-timeout", "no result after 1.5 s"),
        "unbuildable": ("build-error", ""),
    }
    rebuilt = rebuild(pair, *map(saved, failures), misfit(), saved("fine"))
    expected = [*failures.values(), ("build-error", "does not fit the program")]
    for made, (status, message) in zip(rebuilt, expected, strict=False):
        assert [one.measured.status for one in made] == [status] * 2
        assert all(message in one.measured.error for one in made)
        assert all(one.code_bytes is None and one.build_s == () for one in made)
    assert all(one.measured.status == "ok" for one in rebuilt[-1])


def test_a_killed_server_costs_a_set_and_nothing_else(pair, engine, warm):
    killed = []

    def kill_once(turn):
        if not killed:
            killed.append(server(engine).pid)
            server(engine).kill()

    [rebuilt] = rebuild(pair, saved("fine"), effort=disturbed(ONE_SET, in_turn=kill_once))
    assert [one.measured.status for one in rebuilt] == ["ok", "ok"]
    gone(killed)
    assert workers(engine) == []


def test_variants_are_compiled_with_their_own_options(engine, warm):
    target = json.dumps(
        {key: value for key, value in engine.target.export().items() if key not in ("tag", "keys")},
        default=list,
    )
    variants = [
        Toolchain(),
        Toolchain("plain", target={"opt-level": 0}, passes={"tirx.disable_vectorize": True}),
        Toolchain("odd", passes={"tirx.nothing": 1}),
    ]
    with closing(local_toolchains(target, SETTINGS, variants)) as toolchains:
        machines = toolchains.machines
        assert [*machines] == ["today", "plain", "odd"]
        assert '"opt-level": 0' in json.dumps(json.loads(machines["plain"]["target"]))
        assert machines["plain"]["changes"]["passes"] == {"tirx.disable_vectorize": True}
        [(*rebuilt, odd)] = rebuild(toolchains, saved("fine"))
    assert {one.measured.status for one in rebuilt} == {"ok"}
    # TVM knows no such option.
    assert odd.measured.status == "build-error"
    assert "tirx.nothing" in odd.measured.error


def test_with_cold_caches_a_slice_is_one_call(warm, tmp_path):
    calls = tmp_path / "calls"
    calls.touch()
    job = KernelJob((saved_module(counting(calls).mod),) * 2, None)
    effort = dataclasses.replace(ONE_SET, slice_ms=5.0)
    both = [Toolchain(), Toolchain("plain", target={"opt-level": 0})]
    with closing(local_toolchains(None, EngineSettings(flush_cache_mb=8), both)) as toolchains:
        [(_, made)] = toolchains.rebuild([job], effort)
    assert [one.measured.status for one in made] == ["ok", "ok"]
    # TVM calls a kernel once before it times a call.
    assert calls.stat().st_size == 2 * (1 + 2 * effort.turns.least)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("old:mcpu=z80", "LLVM knows no CPU 'z80'"),
        ("old:mcpu=null", "expected an LLVM or CUDA target"),
        ("old:num-cores=0", "num-cores is 0, expected 1 or more"),
    ],
)
def test_an_attribute_that_does_not_do_is_refused(text, message):
    with pytest.raises(ToolchainError, match=f"bad variant 'old:.*{message}"):
        local_toolchains(None, SETTINGS, [Toolchain.parse_variant(text)])


def test_more_threads_than_cores_are_refused():
    settings = EngineSettings(cores=usable_cores().cpus[:1])
    wide = Toolchain.parse_variant("wide:num-cores=2")
    with pytest.raises(MisfitError, match="bad variant 'wide:num-cores=2': a kernel runs on 2 thr"):
        local_toolchains('{"kind": "llvm", "num-cores": 1}', settings, [wide])


@pytest.mark.parametrize(
    ("python", "message"),
    interpreters.UNFIT,
)
def test_an_interpreter_that_will_not_do_is_named_with_the_cure(tmp_path, python, message):
    against = Toolchain("against", python=python(tmp_path))
    target = resolve_target(None)
    pair = LocalToolchains(FastEngine(target), [LocalEngine(target, SETTINGS, against)])
    with pytest.raises(EngineError, match="toolchain against") as caught:
        pair.start()
    pair.close()
    assert message in str(caught.value)
