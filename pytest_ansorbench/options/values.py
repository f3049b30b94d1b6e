"""From what a user wrote to a value, or to a sentence on what was expected instead.

Each parser takes text from the command line or the ini file, or a Python value from a marker,
and raises ValueError with the words that follow `bad --ansor-x 'v': `. Records are imported when
one is made: a session without a bench makes none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_ansorbench.measure.toolchain import Toolchain
    from pytest_ansorbench.records import Implementation
    from pytest_ansorbench.report.render.outputs import Output
    from pytest_ansorbench.stats.limits import Allowance
    from pytest_ansorbench.stats.looks import Looks


def words(value: object) -> tuple[str, ...]:
    """Different names, separated by commas or in a list."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError("expected names separated by commas, e.g. default,etc")
    names = tuple(str(part).strip() for part in parts)
    if not names or not all(names) or len(set(names)) != len(names):
        raise ValueError("expected different names separated by commas, e.g. default,etc")
    return names


def ids(value: object) -> tuple[str, ...]:
    """Ids of cases, commas between them and in them: what there is to run tells which are which."""
    parts = value if isinstance(value, list | tuple) else [value]
    if not parts or not all(isinstance(part, str) for part in parts):
        raise ValueError("expected ids of cases separated by commas")
    return tuple(parts)


def whole_number(least: int, example: int) -> Callable[[object], int]:
    """A parser of whole numbers from `least` up."""

    def parse(value: object) -> int:
        try:
            parsed = int(value) if isinstance(value, int | str) else None
        except ValueError:
            parsed = None
        if parsed is None or isinstance(value, bool) or parsed < least:
            raise ValueError(f"expected a whole number of at least {least}, e.g. {example}")
        return parsed

    return parse


def number(
    accepts: Callable[[float], bool], wanted: str, example: str
) -> Callable[[object], float]:
    """A parser of finite numbers that `accepts` accepts; `wanted` says which these are."""

    def parse(value: object) -> float:
        try:
            parsed = float(value) if isinstance(value, int | float | str) else math.nan
        except ValueError:
            parsed = math.nan
        if isinstance(value, bool) or not math.isfinite(parsed) or not accepts(parsed):
            raise ValueError(f"expected {wanted}, e.g. {example}")
        return parsed

    return parse


not_negative = number(lambda x: x >= 0, "a number from 0 up", "2")
positive = number(lambda x: x > 0, "a number above 0", "30")
share = number(lambda x: 0 <= x < 1, "a share from 0 up to 1", "0.01")
level = number(lambda x: 0 < x < 1, "a level between 0 and 1", "0.95")
_ratio = number(lambda x: 1e-6 <= x <= 1e6, "a ratio from 1e-6 to 1e6, or none", "0.75")


def limit(value: object) -> float | None:
    """A limit, or none whatever a marker says."""
    return None if value == "none" else _ratio(value)


def precision(value: object) -> float:
    """A share below 1, as a number or in percent."""
    text = "" if isinstance(value, bool) else str(value).strip()
    try:
        return share(float(text[:-1]) / 100 if text.endswith("%") else text)
    except ValueError:
        raise ValueError("expected a share from 0 up to 1, e.g. 0.5% or 0.005") from None


_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration(value: object) -> float:
    """Seconds, or a number with a unit: s, m or h."""
    text = str(value).strip().lower()
    unit = _UNITS.get(text[-1:], 1.0)
    digits = text[:-1] if text[-1:] in _UNITS else text
    try:
        return positive(digits) * unit
    except ValueError:
        raise ValueError("expected a duration above 0, e.g. 45m, 2h or 900 for seconds") from None


def cores(value: object) -> tuple[int, ...]:
    """Numbers of different cores, separated by commas."""
    try:
        numbers = tuple(int(word) for word in words(value))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 0 or len(set(numbers)) != len(numbers):
        raise ValueError("expected numbers of different cores, separated by commas, e.g. 0,1")
    return numbers


def choice(*choices: str) -> Callable[[object], str]:
    """A parser of one word out of several."""

    def parse(value: object) -> str:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return str(value)

    return parse


def yes_or_no(value: object) -> bool:
    """True or false, in the words that ini files use."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError("expected true or false")


def text(example: str) -> Callable[[object], str]:
    """A parser of text that is not blank."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"expected some text, e.g. {example}")
        return value.strip()

    return parse


def by(module: str, name: str) -> Callable[[object], Any]:
    """A parser of text by its name, e.g. `Goal.parse`, in a module that is imported to use it."""

    def parse(value: object) -> Any:
        parser = attrgetter(name)(import_module(f"pytest_ansorbench.{module}"))
        return parser(str(value))

    return parse


def path(value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise ValueError("expected a path, e.g. result.json")
    return Path(value)


def paths(value: object) -> tuple[Path, ...]:
    """One path or a list of them."""
    return tuple(map(path, value if isinstance(value, list | tuple) else [value]))


def repeats(value: object) -> int | Looks:
    """A number of repeats, or as many as gates need."""
    from pytest_ansorbench.stats.looks import EXPECTED_REPEATS, Looks

    if isinstance(value, str) and not value.strip().isdecimal():
        return Looks.parse(value)
    try:
        return whole_number(1, 5)(value)
    except ValueError:
        raise ValueError(EXPECTED_REPEATS) from None


def allowances(value: object) -> tuple[Allowance, ...]:
    """By how much figures may get worse: a list, or separated by commas or spaces."""
    from pytest_ansorbench.stats.limits import Allowance

    texts = value if isinstance(value, list | tuple) else [value]
    parts = [part for text in texts for part in re.split(r"[,\s]+", str(text).strip())]
    return tuple(Allowance.parse(part) for part in parts)


def outputs(value: object) -> tuple[Output, ...]:
    """Formats of a report, and files: a list, or separated by commas."""
    from pytest_ansorbench.report.render.outputs import Output

    texts = value if isinstance(value, list | tuple) else str(value).split(",")
    return tuple(Output.parse(str(text)) for text in texts)


def implementations(value: object) -> tuple[Implementation, ...]:
    """Other implementations of operators, separated by commas."""
    from pytest_ansorbench.records import IMPLEMENTATIONS

    given = words(value)
    if not {*given} <= {*IMPLEMENTATIONS}:
        raise ValueError(f"expected some of {', '.join(IMPLEMENTATIONS)}, e.g. torch,onnxruntime")
    return tuple(name for name in IMPLEMENTATIONS if name in given)


def toolchains(parser: str, wanted: str) -> Callable[[object], tuple[Toolchain, ...]]:
    """A parser of toolchains with names of their own, given several times or in a list."""

    def parse(value: object) -> tuple[Toolchain, ...]:
        from pytest_ansorbench.measure.toolchain import Toolchain, check_names

        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list | tuple):
            raise ValueError(f"expected {wanted}")
        parsed = tuple(getattr(Toolchain, parser)(str(text)) for text in texts)
        check_names(parsed)
        return parsed

    return parse
