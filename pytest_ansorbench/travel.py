"""Cases and strategies on their way to another interpreter: where they are defined, their fields.

No pickle and no code: a dataclass travels as the name of its class and its fields, a function or a
class as its name. The other side imports the module, which for one of the project is the same file.
A shipped case travels without a module's name: see `workloads.definition`. So does a case into a
result file. Whoever reads one takes shipped cases from it only.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

from pytest_ansorbench.codec import json_value
from pytest_ansorbench.records import RecordError
from pytest_ansorbench.workloads.case import Case
from pytest_ansorbench.workloads.definition import BadDefinition, definition_of, made


class StayError(ValueError):
    """What cannot travel, or arrives as something else; the message says why and what to do."""


def packed(value: object, root: Path, what: str = "it") -> Any:
    """A value as JSON values.

    Args:
        value: Numbers, texts, paths, tuples, lists, dicts and dataclasses of such values, and
            functions and classes.
        root: Folder of the project, whose modules travel as files.
        what: What errors call it.

    Raises:
        StayError: There is something else in it, or something without a name of its own.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return {type(value).__name__: [packed(one, root, what) for one in value]}
    if isinstance(value, dict) and type(value) is dict:
        return {"dict": [[packed(one, root, what) for one in pair] for pair in value.items()]}
    if isinstance(value, Path):
        return {"path": str(value.absolute())}
    if isinstance(value, type | FunctionType):
        return {"named": _reference(value, root)}
    kind = type(value)
    if (shipped := definition_of(value)) is not None:
        return shipped
    if not is_dataclass(value):
        raise StayError(
            f"{what} is a {kind.__name__}, which cannot be made anew elsewhere; make its class a "
            "frozen dataclass at the top of a module, or give a function there that makes it"
        )
    return {
        "made": _reference(kind, root),
        "fields": {
            one.name: packed(
                getattr(value, one.name), root, f"the field {one.name} of {kind.__name__}"
            )
            for one in fields(value)
            if one.init
        },
    }


def unpacked(value: Any) -> Any:
    """The value that was packed: StayError if it cannot be had here."""
    match value:
        case {"tuple": items}:
            return tuple(map(unpacked, items))
        case {"list": items}:
            return [*map(unpacked, items)]
        case {"dict": pairs}:
            return {unpacked(key): unpacked(one) for key, one in pairs}
        case {"path": text}:
            return Path(text)
        case {"named": reference}:
            return _named(reference)
        case {"made": reference, "fields": given}:
            return _made(_named(reference), {name: unpacked(one) for name, one in given.items()})
        case {"family": _, "fields": _}:
            try:
                return made(value)
            except BadDefinition as error:
                raise StayError(f"{error}; install the same version as here") from None
    return value


def arrived(value: Any, root: Path) -> Any:
    """What `unpacked` gives, if it is packed again as it was: the same class has the same fields.

    Raises:
        StayError: It cannot be had here, or is something else.
    """
    found = unpacked(value)
    if packed(found, root) != value:
        raise StayError(
            f"{type(found).__name__} has other fields there than here; install the same version "
            "of what defines it"
        )
    return found


def definition(case: Case, root: Path) -> dict[str, Any] | None:
    """The definition of a case as a JSON value; None if it has none."""
    try:
        found: dict[str, Any] = json_value(packed(case, root))
    except (StayError, RecordError):
        return None
    return found


def recorded(case: Case, root: Path) -> dict[str, Any] | None:
    """The definition of a case for a file, with paths within the project.

    None if it has none, or one with another path, which would name a machine or its user.
    """
    try:
        found: dict[str, Any] | None = _relative(definition(case, root), root)
    except ValueError:
        return None
    return found


def _relative(value: Any, root: Path) -> Any:
    """A packed value with paths from `root`; ValueError if one leads elsewhere."""
    match value:
        case list():
            return [_relative(one, root) for one in value]
        case {"module": _, "name": _, "file": str(file)}:
            return {**value, "file": Path(file).relative_to(root).as_posix()}
        case {"path": str(path)}:
            return {"path": Path(path).relative_to(root).as_posix()}
        case {"fields": dict(fields), **rest}:
            named = {name: _relative(one, root) for name, one in fields.items()}
            return {**_relative(rest, root), "fields": named}
        case dict():
            return {key: _relative(one, root) for key, one in value.items()}
    return value


def project_file(module: str, file: object, root: Path) -> str | None:
    """Path of a module of a project, which is not an installed one and not of this package."""
    if not isinstance(file, str) or module.partition(".")[0] == __name__.partition(".")[0]:
        return None
    path = Path(file)
    return file if path.is_relative_to(root) and "site-packages" not in path.parts else None


def project_paths(root: Path) -> list[str]:
    """Where this interpreter looks for modules of a project."""
    folders = [str(Path(entry).absolute()) for entry in sys.path]
    return [one for one in folders if project_file("", one, root) is not None]


_CURE: Final = "define it at the top of a module"


def _reference(thing: Any, root: Path) -> dict[str, Any]:
    """Where a class or a function is defined."""
    module, name = str(thing.__module__), str(thing.__qualname__)
    scope = _scope(thing)
    if "<" in name:
        raise StayError(f"{name} of {module} is defined inside a function, or is a lambda; {_CURE}")
    try:
        found = functools.reduce(getattr, name.split(".")[1:], scope[name.split(".")[0]])
    except (AttributeError, KeyError):
        found = None
    if found is not thing:
        raise StayError(f"{module} calls something else {name}, or nothing; {_CURE}")
    file = project_file(module, scope.get("__file__"), root)
    return {"module": module, "name": name, "file": file}


def _scope(thing: Any) -> Mapping[str, Any]:
    """What a module defines, `sys.modules` having another under its name if both are a conftest."""
    for member in (thing, *vars(thing).values()):
        scope: Mapping[str, Any] = getattr(member, "__globals__", {})
        if scope.get("__name__") == thing.__module__:
            return scope
    return vars(sys.modules[thing.__module__])


def _named(reference: Mapping[str, Any]) -> Any:
    module, name = reference["module"], reference["name"]
    try:
        return functools.reduce(getattr, name.split("."), _module(module, reference["file"]))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module raises, such as a skip of pytest's
        raise StayError(
            f"{module}.{name} cannot be imported there: {type(error).__name__}: {error}; move it "
            "into a module that can be, or install there what that needs"
        ) from None


def _module(name: str, file: str | None) -> ModuleType:
    """A module of this interpreter's own, or the one in a file."""
    if file is None:
        return importlib.import_module(name)
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin == file:
        return importlib.import_module(name)
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _made(kind: Any, given: Mapping[str, Any]) -> Any:
    name = getattr(kind, "__name__", kind)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise StayError(f"{name} is no dataclass there; install the same version as here")
    try:
        return kind(**given)
    except Exception as error:  # whatever its __post_init__ raises
        reason = f"{type(error).__name__}: {error}"
        raise StayError(f"{name} cannot be made there: {reason}") from None
