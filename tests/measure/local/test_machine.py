"""How this machine is described in a result."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from pytest_ansorbench.measure.local import machine
from pytest_ansorbench.measure.local.machine import describe_machine


def test_it_is_json_and_says_what_decides_a_result() -> None:
    described = describe_machine()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert described["system"] == platform.system()
    assert described["logical_cores"] >= 1
    assert described["memory_bytes"] > 0
    assert described["python"] == platform.python_version()
    assert set(described["packages"]) == {
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


def test_missing_packages_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "xgboost-cpu":
            return "3.0"
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    packages = describe_machine()["packages"]
    assert packages["xgboost"] == "3.0"
    assert packages["apache-tvm"] is None


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
