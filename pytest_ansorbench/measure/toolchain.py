"""What turns a schedule into machine code: an interpreter's TVM, a target, compiler options."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

AGAINST: Final = "against"
"""The toolchain of another interpreter, which others are compared with."""
TODAY: Final = "today"
"""The toolchain of the interpreter that asks, with nothing changed."""


@dataclass(frozen=True)
class Toolchain:
    """One way to compile kernels."""

    name: str = TODAY
    python: str | None = None
    """Path of the interpreter whose TVM compiles; None for this one's."""
    target: Mapping[str, Any] = field(default_factory=dict)
    """Attributes laid over those of the target, e.g. `{"mcpu": "x86-64-v3"}`."""
    passes: Mapping[str, Any] = field(default_factory=dict)
    """Options of TVM's `PassContext`, e.g. `{"tirx.disable_vectorize": True}`."""

    @classmethod
    def parse_variant(cls, text: str) -> Toolchain:
        """Read `NAME:KEY=VALUE,...`; a ValueError says what was expected.

        A key with a dot is an option of TVM's `PassContext`. Values are JSON where they can be.
        """
        name, colon, rest = text.partition(":")
        settings = [part.partition("=") for part in _parts(rest)]
        if not colon or not settings or not all(key and sign for key, sign, _ in settings):
            raise ValueError(f"expected NAME:KEY=VALUE,..., {_EXAMPLES}")
        values = {key.strip(): _value(value) for key, _, value in settings}
        if len(values) < len(settings):
            raise ValueError(f"expected each key once, {_EXAMPLES}")
        return cls(
            _checked(name),
            target={key: value for key, value in values.items() if "." not in key},
            passes={key: value for key, value in values.items() if "." in key},
        )

    @classmethod
    def parse_interpreter(cls, text: str) -> Toolchain:
        """Read `NAME=PATH`, the path of an interpreter; a ValueError says what was expected."""
        name, sign, python = text.partition("=")
        if not sign or not python.strip():
            raise ValueError("expected NAME=PATH, e.g. old=.venv-old/bin/python")
        return cls(_checked(name.strip()), python=python.strip())

    def __str__(self) -> str:
        settings = {**self.target, **self.passes}
        if not settings:
            return self.name
        return f"{self.name}:{','.join(f'{key}={json.dumps(settings[key])}' for key in settings)}"

    def conditions(self) -> dict[str, Any]:
        """What it changes, as JSON values."""
        return {"target": dict(self.target), "passes": dict(self.passes)}


def toolchains(against: str | None, variants: Sequence[Toolchain]) -> tuple[Toolchain, ...]:
    """What kernels are made with, the reference first: another interpreter if there is one."""
    reference = () if against is None else (Toolchain(AGAINST, python=against),)
    return (*reference, Toolchain(), *variants)


def check_names(variants: Sequence[Toolchain]) -> None:
    names = [TODAY, AGAINST, *(variant.name for variant in variants)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"bad name {name!r}: expected another; each stands for one toolchain")


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*")
_EXAMPLES: Final = "e.g. avx2:mcpu=x86-64-v3 or scalar:tirx.disable_vectorize=true"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"bad name {name!r}: expected letters, digits, . _ + @ or -")
    return name


def _parts(text: str) -> list[str]:
    """What commas separate, those within brackets left alone."""
    return [part for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()
