"""How this machine is described in a result, and what else it is seen to be doing."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path

import pytest

from pytest_ansorbench.measure.local import machine
from pytest_ansorbench.measure.local.machine import (
    caches_bytes,
    describe_machine,
    observe_machine,
)


def test_it_is_json_and_says_what_decides_a_result() -> None:
    described = describe_machine()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert described["system"] == platform.system()
    assert described["logical_cores"] >= 1
    assert described["memory_bytes"] > 0
    assert described["python"] == platform.python_version()
    assert set(described["packages"]) - {"optuna", "torch"} == {
        "apache-tvm",
        "apache-tvm-ffi",
        "numpy",
        "pytest-ansorbench",
        "xgboost",
    }
    assert described["packages"]["numpy"] == metadata.version("numpy")


def test_it_does_not_name_the_machine() -> None:
    described = describe_machine()
    assert platform.node() not in (*described.values(), *described["packages"].values())


def test_missing_packages_are_none_and_missing_extras_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = {"xgboost-cpu": "3.0", "optuna": "5.0"}

    def version(name: str) -> str:
        if name in installed:
            return installed[name]
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    packages = describe_machine()["packages"]
    assert packages["xgboost"] == "3.0"
    assert packages["apache-tvm"] is None
    assert packages["optuna"] == "5.0" and "torch" not in packages


def test_cpu_model_comes_from_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Quick 9000 @ 5 GHz\n")
    monkeypatch.setattr(machine, "_CPUINFO", cpuinfo)
    assert describe_machine()["cpu"] == "Quick 9000 @ 5 GHz"


@pytest.mark.parametrize("processor", ["arm", ""])
def test_cpu_model_may_be_unknown(
    processor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "missing")
    monkeypatch.setattr(platform, "processor", lambda: processor)
    assert describe_machine()["cpu"] == (processor or None)


def test_it_imports_no_tvm() -> None:
    code = (
        "import sys; from pytest_ansorbench.measure.local.machine import describe_machine;"
        "describe_machine();"
        "sys.exit('tvm' in sys.modules or 'pytest' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def describe(cpus: Path, *caches: tuple[int, int, str, str, str, str]) -> None:
    for core, index, *values in caches:
        folder = cpus / f"cpu{core}" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
            (folder / name).write_text(f"{value}\n")


def test_levels_add_up_and_what_cores_share_counts_once(tmp_path: Path) -> None:
    describe(
        tmp_path,
        (0, 0, "1", "Data", "48K", "0"),
        (0, 1, "1", "Instruction", "32K", "0"),
        (0, 3, "3", "Unified", "32M", "0-1"),
        (1, 0, "1", "Data", "48K", "1"),
        (1, 3, "3", "Unified", "32M", "0-1"),
    )
    assert caches_bytes(tmp_path) == {"L1": 2 * 48 * 1024, "L3": 32 * 1024**2}


def test_without_a_description_nothing_is_said(tmp_path: Path) -> None:
    assert caches_bytes(tmp_path) is None
    describe(tmp_path, (0, 0, "1", "Data", "much", "0"))
    assert caches_bytes(tmp_path) is None


def test_a_stray_process_is_seen():
    code = "print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as stray:
        stray.stdout.readline()
        state = observe_machine(0.5)
        stray.kill()
    assert state.busy_cores > 0.2  # of a machine that other tests may keep busy
    assert any(text.startswith("python") for text in state.busiest)


def test_the_benchs_own_process_is_left_out():
    # Other tests come and go beside this one, so one try out of five has to do.
    assert any(busier_with_a_spinning_thread() < 0.3 for _ in range(5))


def busier_with_a_spinning_thread() -> float:
    """Cores that a thread of this process adds to what is seen of others."""
    done = threading.Event()

    def spin():
        while not done.is_set():
            pass

    before = observe_machine(0.3)
    spinner = threading.Thread(target=spin)
    spinner.start()
    try:
        with_spinner = observe_machine(0.3)
    finally:
        done.set()
        spinner.join()
    after = observe_machine(0.3)
    return with_spinner.busy_cores - max(before.busy_cores, after.busy_cores)


@pytest.mark.skipif(sys.platform == "win32", reason="no load average")
def test_figures_are_in_range():
    state = observe_machine(0.05)
    assert state.load_1min >= 0
    assert state.stolen_cores >= 0
    assert state.frequency_mhz is None or 100 < state.frequency_mhz < 20_000
    assert len(state.busiest) <= 3
