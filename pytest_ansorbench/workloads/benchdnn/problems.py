"""Problems and batch files of benchdnn, as its command line takes them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.workloads.benchdnn.descriptors import Unread
from pytest_ansorbench.workloads.benchdnn.drivers import DRIVERS, MARK, Driver
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.shape import BadShape

#: What decides how, when and on what benchdnn runs, and not what.
_HARMLESS: Final = {
    *("allow-enum-tags-only", "attr-deterministic", "attr-same-pd-check", "attr-scratchpad"),
    *("canonical", "check-ref-impl", "cold-cache", "cpu-isa-hints", "ctx-exe", "ctx-init"),
    *("engine", "execution-mode", "fast-ref", "fix-times-per-prb", "impl", "max-ms-per-prb"),
    *("mem-check", "memory-kind", "mode", "mode-modifier", "num-streams", "perf-template"),
    *("repeats-per-prb", "skip-impl", "stream-kind", "summary", "verbose"),
}


class BadProblem(ValueError):
    """A problem of benchdnn that is no case; the message names it and shows what is read."""


def from_benchdnn(driver: str, problem: str, *, dtype: str = "float32") -> Operator:
    """An operator from a problem of oneDNN's benchdnn.

    Args:
        driver: Kind of the problem: matmul, conv, pool, softmax, lnorm or gnorm.
        problem: As on its command line, e.g. `30x4096:4096x6144`, or `mb1ic64ih56oc64oh56kh3ph1`;
            options may stand before it.
        dtype: Data type, as of `workloads.Dense`, unless an option says another.

    Raises:
        BadProblem: This package has no operator for it.
    """
    reader = _reader(driver, dtype, None)
    found = [*reader.read(problem, "", Path())]
    if len(found) != 1:
        raise BadProblem(
            f"bad {driver} problem {problem!r}: it is {len(found)} problems; expected one, e.g. "
            f"{reader.driver.example}"
        )
    return found[0]


def from_benchdnn_batch(
    driver: str,
    path: str | Path,
    *,
    dtype: str = "float32",
    skip: Callable[[BadProblem], None] | None = None,
) -> tuple[Operator, ...]:
    """The operators of a batch file of oneDNN's benchdnn, each once, in order.

    Args:
        driver: See `from_benchdnn`.
        path: The file: problems and options, comments after `#`, and other such files.
        dtype: Data type of problems for which no option says another.
        skip: Is told of each problem that is left out, e.g. `print`, since it or an option before
            it is not read; without it such a problem is an error.

    Raises:
        BadProblem: There is something in it that is not read, or nothing.
    """
    reader = _reader(driver, dtype, skip)
    found = tuple(dict.fromkeys(reader.read_file(Path(path))))
    if not found:
        raise BadProblem(
            f"bad {driver} problems in {str(path)!r}: there are none; expected some, e.g. "
            f"{reader.driver.example}"
        )
    return found


@dataclass
class _Reader:
    """Reads words as benchdnn does: an option holds for all problems after it."""

    driver_name: str
    driver: Driver
    dtype: str
    skip: Callable[[BadProblem], None] | None

    def __post_init__(self) -> None:
        self._state: dict[str, list[Any]] = {}
        self._open: list[Path] = []

    def read_file(self, path: Path) -> Iterator[Operator]:
        subject = f"bad {self.driver_name} problems in {str(path)!r}"
        if not path.is_file():
            raise BadProblem(f"{subject}: there is no such file")
        if path.resolve() in self._open:
            raise BadProblem(f"{subject}: the file reads itself")
        self._open.append(path.resolve())
        text = path.read_text("utf-8", "replace")
        yield from self.read(text, f" of {str(path)!r}", path.parent)
        self._open.pop()

    def read(self, text: str, where: str, folder: Path) -> Iterator[Operator]:
        """The operators of a text; `where` is what sentences say of its place."""
        for word in _words(text):
            if not word.startswith("-"):
                yield from self._problems(word, where)
                continue
            name, _, value = word.removeprefix(MARK).partition("=")
            if name == "reset":
                self._state.clear()
            elif name == "batch":
                yield from self.read_file(folder / value)
            elif name not in _HARMLESS and name != self.driver_name and not word.startswith("-v"):
                subject = f"bad {self.driver_name} option {word!r}{where}"
                self._state[name] = [*self._meant(subject, name, value)]

    def _meant(self, subject: str, name: str, values: str) -> Iterator[Any]:
        """What is meant by each value; an error of the problems that it holds for if nothing is."""
        option = self.driver.options.get(name)
        if option is None:
            yield BadProblem(
                f"{subject}: it is not read; expected one of "
                f"{', '.join(self.driver.options)}, e.g. {MARK}dir=fwd_i"
            )
            return
        for value in values.split(","):
            try:
                yield option.read(value)
            except (KeyError, ValueError):
                yield BadProblem(f"{subject}: {value!r} is not read; expected {option.shown}")

    def _problems(self, word: str, where: str) -> Iterator[Operator]:
        """A problem, for each combination of what options say."""
        for values in itertools.product(*self._state.values()):
            given = {"dt": self.dtype, **dict(zip(self._state, values, strict=True))}
            try:
                yield self._problem(word, given)
            except (BadProblem, BadShape, Unread) as error:
                bad = BadProblem(f"bad {self.driver_name} problem {word!r}{where}: {error}")
                if self.skip is None:
                    raise bad from None
                self.skip(bad)

    def _problem(self, word: str, given: Mapping[str, Any]) -> Operator:
        for value in given.values():
            if isinstance(value, BadProblem):
                raise value
        described = word.partition("n")[0].rstrip("_")  # what follows is its name
        return self.driver.make(described, given)


def _reader(driver: str, dtype: str, skip: Callable[[BadProblem], None] | None) -> _Reader:
    if driver not in DRIVERS:
        raise BadProblem(f"bad driver {driver!r}: expected one of {', '.join(DRIVERS)}")
    return _Reader(driver, DRIVERS[driver], dtype, skip)


def _words(text: str) -> list[str]:
    """Words without comments; a backslash at the end of one joins it with the next."""
    without_comments = re.sub(r"(?<!\S)#.*", "", text)
    return re.sub(r"\s*\\\s+", "", without_comments).split()
