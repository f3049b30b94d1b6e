"""What travels to another interpreter arrives as it was, or stays with the reason."""

from __future__ import annotations

import json
import math
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.strategies import BUILTIN, RandomTraces, Strategy
from pytest_ansorbench.travel import (
    StayError,
    arrived,
    packed,
    project_file,
    project_paths,
    recorded,
    unpacked,
)
from pytest_ansorbench.workloads import (
    CASES,
    ImportedNetwork,
    KernelBenchNetwork,
    Mlp,
    Softmax,
    from_kernelbench,
    from_onnx,
    from_relax,
    from_te,
    from_tir,
)
from pytest_ansorbench.workloads.definition import definition_of
from tests.interpreters import ROOT
from tests.proposers import scripted
from tests.spaces import Recomputing


@dataclass(frozen=True)
class Holder:
    held: Any


class Plain:
    pass


def function():
    return None


def sent(value, root=ROOT):
    """What arrives of a value at the other end of a channel."""
    return arrived(json.loads(json.dumps(packed(value, root))), root)


RECOMPUTING = Strategy("recomputing", proposer=RandomTraces(), space=Recomputing())


def test_every_shipped_case_and_strategy_arrives_as_it_was():
    for value in (*BUILTIN, *CASES, scripted(("fine",), None), RECOMPUTING):
        assert sent(value) == value and type(sent(value)) is type(value)


def test_fields_may_be_of_many_kinds(tmp_path):
    value = Holder((1, -0.5, math.inf, None, True, "x", [Plain, function], {"a": (tmp_path,)}))
    assert sent(value) == value
    [_, *rest] = sent((1, 2))
    assert rest == [2] and type(sent((1, 2))) is tuple and type(sent([1])) is list


def test_networks_of_users_arrive_with_what_reads_them():
    network = sent(from_relax("own", function))
    assert (network.id, network.read.function) == ("own", function)
    model = sent(from_onnx("model.onnx", shapes={"x": [1, 2]}))
    assert isinstance(model, ImportedNetwork) and model.id == "model"
    assert model.read.path == Path("model.onnx").absolute()
    assert model.read.shapes == {"x": (1, 2)}
    problem = sent(from_kernelbench("problem.py", N=4, shape=(2, 3)))
    assert isinstance(problem, KernelBenchNetwork) and problem.id == "problem-N4-shape(2, 3)"
    assert problem.read.path == Path("problem.py").absolute()
    assert problem.read.sizes == {"N": 4, "shape": (2, 3)}


def test_operators_of_users_arrive_with_the_functions_that_make_them():
    operator = from_te("own", function, function)
    assert sent(operator) == operator
    with pytest.raises(StayError, match=r"source of OwnOperator is a Plain, .* a function there"):
        packed(from_tir("own", Plain()), ROOT)


@pytest.mark.parametrize("value", [Softmax(m=2, n=3), Mlp(hidden=(3, 4))], ids=str)
def test_a_shipped_case_travels_without_a_module(value):
    assert packed(value, ROOT) == definition_of(value) and sent(value) == value


def test_what_a_file_cannot_hold_has_no_record():
    assert recorded(Holder(math.inf), ROOT) is None
    assert recorded(Plain(), ROOT) is None
    assert recorded(Holder((1, "x")), ROOT)["fields"] == {"held": {"tuple": [1, "x"]}}


def test_a_file_has_paths_within_the_project_and_no_other():
    found = recorded(Holder({"models": [ROOT / "models" / "one.onnx"]}), ROOT)
    assert str(ROOT) not in json.dumps(found)
    assert found["made"]["file"] == "tests/test_travel.py"
    held = found["fields"]["held"]
    assert held == {"dict": [["models", {"list": [{"path": "models/one.onnx"}]}]]}
    assert recorded(Holder(Path("/elsewhere/one.onnx")), ROOT) is None
    with pytest.raises(StayError, match=r"bad family 'Conv4d'.*; install the same version"):
        unpacked({"family": "Conv4d", "fields": {}})


HELD = Holder(1)


def local():
    @dataclass(frozen=True)
    class Local:
        pass

    return Local()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (local(), "local.<locals>.Local of tests.test_travel is defined inside a function"),
        (Holder(lambda: None), "or is a lambda; define it at the top of a module"),
        (Holder((1, {2})), "the field held of Holder is a set, which cannot be made anew"),
        (Plain(), "it is a Plain, which cannot be made anew elsewhere; make its class a frozen"),
    ],
)
def test_what_has_no_name_or_no_fields_stays(value, message):
    with pytest.raises(StayError, match=message):
        packed(value, ROOT)


def test_a_class_that_its_module_calls_otherwise_stays(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "Holder", Plain)
    with pytest.raises(StayError, match="calls something else Holder, or nothing"):
        packed(HELD, ROOT)


@pytest.fixture
def forget():
    """Imports modules of files anew, as another interpreter would."""
    names = ("conftest", "mine")
    before = {name: sys.modules[name] for name in names if name in sys.modules}
    yield lambda name: sys.modules.pop(name, None)
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def loaded(path, forget):
    """An object that a file defines, imported as pytest does."""
    forget(path.stem)
    reference = {"module": path.stem, "name": "Mine", "file": str(path)}
    return unpacked({"made": reference, "fields": {"n": 1}})


MINE = """
from dataclasses import dataclass

@dataclass
class Mine:
    n: int
    folder = {folder!r}
"""


def test_modules_of_a_project_are_files_whatever_their_names(tmp_path, forget):
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "conftest.py"
        path.write_text(MINE.format(folder=name))
        made.append(loaded(path, forget))
    assert [one.folder for one in made] == ["a", "b"]
    texts = [packed(one, tmp_path) for one in made]
    forget("conftest")
    assert [arrived(one, tmp_path).folder for one in texts] == ["a", "b"]
    again = unpacked(texts[1])
    assert type(again) is type(unpacked(texts[1]))  # a module is loaded once


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("    n: int", "    n: int\n    more: int = 0", "Mine has other fields there than here"),
        ("    n: int", "    m: int", "Mine cannot be made there: TypeError"),
        ("class Mine", "class Other", "mine.Mine cannot be imported there: AttributeError"),
        ("@dataclass", "", "Mine is no dataclass there"),
        ("from dataclasses", "from nowhere", "ModuleNotFoundError: No module named 'nowhere'"),
        ("@dataclass", "import pytest; pytest.skip('no')\n@dataclass", "Skipped: no"),
    ],
)
def test_what_arrives_as_something_else_is_refused(tmp_path, forget, before, after, message):
    path = tmp_path / "mine.py"
    path.write_text(MINE.format(folder=""))
    text = packed(loaded(path, forget), tmp_path)
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))
    shutil.rmtree(path.with_name("__pycache__"), ignore_errors=True)
    forget("mine")
    with pytest.raises(StayError, match=message):
        arrived(text, tmp_path)


def test_installed_modules_and_this_package_are_each_interpreters_own(tmp_path, monkeypatch):
    assert project_file("mine", str(tmp_path / "mine.py"), tmp_path) == str(tmp_path / "mine.py")
    installed = tmp_path / ".venv" / "lib" / "site-packages" / "mine.py"
    assert project_file("mine", str(installed), tmp_path) is None
    assert project_file("mine", str(ROOT / "mine.py"), tmp_path) is None
    assert project_file("pytest_ansorbench.x", str(tmp_path / "x.py"), tmp_path) is None
    assert project_file("builtins", None, tmp_path) is None
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(installed.parent), str(ROOT)])
    assert project_paths(tmp_path) == [str(tmp_path / "a")]
