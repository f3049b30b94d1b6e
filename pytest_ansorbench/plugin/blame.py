"""An error in a user's own code becomes one message with the file and line at fault.

Strategies, cases and hooks are called from deep inside the package, TVM and pytest. The traceback
of an error in them is sixty lines long, two of which matter to their author.
"""

from __future__ import annotations

import inspect
import os
import site
import sys
import sysconfig
import textwrap
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_ansorbench.plugin.refusals import failure
from pytest_ansorbench.strategies import ENTRY_POINT_GROUP, BadAnswer, StrategyError
from pytest_ansorbench.workloads import BadInputs, BadProgram, ImportFailed

_HINT: Final = "--full-trace shows the whole traceback"
_LONGEST: Final = 1000
"""Characters of a message."""


@contextmanager
def usage_errors(config: pytest.Config, doing: str) -> Iterator[None]:
    """Turn an error of a user's code into a usage error, which ends the session.

    Errors with no frame in a user's file are not theirs and pass unchanged; so do interrupts and
    pytest's own outcomes. What goes on, e.g. `while asking for strategies`, is said if the error
    has no note of its own.
    """
    try:
        yield
    except pytest.UsageError:
        raise
    except Exception as error:
        message = _message(error, config, doing)
        if message is None:
            raise
        if config.getoption("fulltrace"):
            message += "\n" + "".join(traceback.format_exception(error))
        raise pytest.UsageError(message) from None


@contextmanager
def failures(config: pytest.Config, doing: str) -> Iterator[None]:
    """Turn an error of a user's code into a failure of the test; else as `usage_errors`.

    With `--full-trace` or `--pdb` the error itself fails the test.
    """
    __tracebackhide__ = True
    try:
        yield
    except pytest.UsageError:
        raise
    except Exception as error:
        message = _message(error, config, doing)
        if message is None or config.getoption("fulltrace") or config.getoption("usepdb", False):
            raise
        raise failure(message) from None


_SENTENCES: Final = (StrategyError, ImportFailed, BadInputs, BadProgram)
"""What this package raises of a user's strategy or case, and says all in its message."""


@dataclass(frozen=True)
class _Place:
    """A line of a file."""

    path: str
    line: int
    function: str  # that it is in; empty if in none

    def text(self, root: Path) -> str:
        path = Path(self.path)
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        return f"{shown}:{self.line}: " + (f"in {self.function}: " if self.function else "")


def _message(error: Exception, config: pytest.Config, doing: str) -> str | None:
    """The one message for an error; None if it is not a user's."""
    place = _place(error, _Libraries(config))
    sentence = isinstance(error, _SENTENCES)
    if place is None and not sentence:
        return None
    text = str(error) if sentence else ": ".join(filter(None, (type(error).__name__, str(error))))
    notes = [*getattr(error, "__notes__", ())] or [doing]
    hints = [*notes, _HINT] if place is not None else notes
    where = "" if place is None else place.text(config.rootpath)
    return f"{where}{textwrap.shorten(text, _LONGEST, placeholder=' ...')} ({'; '.join(hints)})"


def _place(error: BaseException, libraries: _Libraries) -> _Place | None:
    """The line of a user's file that an error comes from."""
    place = _definition(error.method) if isinstance(error, BadAnswer) else None
    if place is None and isinstance(error, SyntaxError) and error.filename:
        place = _Place(error.filename, error.lineno or 1, "")
    if place is not None and not libraries.contain(place.path):
        return place
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        code = frame.f_code
        if not libraries.contain(code.co_filename):
            return _Place(code.co_filename, line, code.co_name)
    return None if error.__cause__ is None else _place(error.__cause__, libraries)


def _definition(method: Callable[..., Any]) -> _Place | None:
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)
    return None if code is None else _Place(code.co_filename, code.co_firstlineno, code.co_name)


class _Libraries:
    """Tells files that are not a user's: this package, TVM, the standard library, site-packages.

    A package in site-packages that offers strategies, by entry point or by hook, is a user's.
    """

    def __init__(self, config: pytest.Config) -> None:
        paths = sysconfig.get_paths()
        installed = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
        installed.append(site.getusersitepackages())
        modules = [sys.modules.get(name) for name in ("tvm", "tvm_ffi")]
        files = [module.__file__ for module in modules if module is not None]
        offering = [entry_point.module for entry_point in entry_points(group=ENTRY_POINT_GROUP)]
        offering += [
            implementation.function.__module__
            for implementation in config.hook.pytest_ansorbench_strategies.get_hookimpls()
        ]
        self._roots = {
            *map(os.path.realpath, [paths["stdlib"], paths["platstdlib"], *installed]),
            *(os.path.realpath(Path(file).parent) for file in files if file),
            os.path.realpath(Path(__file__).parents[1]),
        }
        self._exceptions = {
            os.path.realpath(os.path.join(folder, top + suffix))
            for folder in installed
            for top in {module.split(".")[0] for module in offering} - {"pytest_ansorbench"}
            for suffix in ("", ".py")
        }

    def contain(self, filename: str) -> bool:
        # `<string>`, or a path of TVM's build machine.
        if not (os.path.isabs(filename) and os.path.isfile(filename)):
            return True
        path = Path(os.path.realpath(filename))
        above = {str(path), *map(str, path.parents)}
        return not above.isdisjoint(self._roots) and above.isdisjoint(self._exceptions)
