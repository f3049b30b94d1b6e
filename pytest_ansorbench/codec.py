"""Records to JSON values and back, so that a file from a stranger is checked data, never code.

Type hints alone drive the conversion: a new record needs no code here. Every field is always
written and always required, but for those that older files lack, which name the version that they
are there `since` in their metadata. What does not fit is refused with the path to it, because a
result that is read half wrong is worse than one that is not read.

JSON has no infinity, and an expected time of a search that never gets there is infinite: float
fields write it as the string "inf". NaN is refused both ways, as is minus infinity, which no
ratio or time can be.

Converters are built once per type: a result may hold a million trials.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import json
import math
import operator
import sys
import types
from collections.abc import Callable, Mapping
from typing import (
    Any,
    Final,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pytest_ansorbench.records.checks import RecordError

RecordT = TypeVar("RecordT")

MAX_DEPTH: Final = 64
"""How deep free-form JSON values may nest; deeper is a broken or hostile file."""

_LARGEST: Final = sys.float_info.max
_PLAIN: Final = {str: "a string", int: "a whole number", bool: "true or false"}


def parse_json(text: str) -> Any:
    """Parse strict JSON: Python's own parser also takes NaN and Infinity.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested without measure.
    """
    return json.loads(text, parse_constant=_refuse_constant)


def dump_json(values: object) -> str:
    """JSON values on one line, as `parse_json` reads it."""
    return json.dumps(values, allow_nan=False, separators=(",", ":"))


def _refuse_constant(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is no JSON value")


def to_json(record: object) -> dict[str, Any]:
    """Turn a record into JSON values, one key per field.

    Fields are records, `tuple[X, ...]`, `X | None`, literals, `Mapping[str, Any]` of JSON values,
    or plain str, int, float, bool. What is not of its field's type is refused, as is NaN.
    """
    cls: Any = type(record)
    encoded: dict[str, Any] = _converter(cls).encode(record)
    return encoded


def from_json(cls: type[RecordT], data: object) -> RecordT:
    """Build a record from JSON values, refusing what does not fit, is missing or is unknown."""
    hint: Any = cls
    decoded: RecordT = _converter(hint).decode(data)
    return decoded


def json_value(value: object, depth: int = 0) -> Any:
    """Copy a free-form JSON value as dicts and lists, refusing what a file would not give back."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RecordError("", value, "a finite number")
        return float(value)
    if depth == MAX_DEPTH:
        raise RecordError("", value, f"values nested at most {MAX_DEPTH} deep")
    if isinstance(value, (list, tuple)):
        return _each(functools.partial(json_value, depth=depth + 1), value)
    if not isinstance(value, Mapping):
        raise RecordError("", value, "a JSON value")
    for key in value:
        if not isinstance(key, str):
            raise RecordError("", key, "a string as key")
    deeper = functools.partial(json_value, depth=depth + 1)
    return {key: _within(key, deeper, item) for key, item in value.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class _Converter:
    """How one type is written and read."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    #: Reads a long list faster than one by one; None if that takes looking at each.
    decode_fast: Callable[[list[Any]], list[Any] | None] = lambda values: None

    def encode_all(self, values: list[Any]) -> list[Any]:
        return _each(self.encode, values)

    def decode_all(self, values: list[Any]) -> list[Any]:
        fast = self.decode_fast(values)
        return _each(self.decode, values) if fast is None else fast


@functools.cache
def _converter(hint: Any) -> _Converter:
    """Build the converter of a type, once."""
    if hint in _PLAIN:
        return _plain(hint, _PLAIN[hint])
    if hint is float:
        return _Converter(_encode_float, _decode_float, _decode_floats)
    if hint is Any:
        return _Converter(json_value, json_value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _dataclass(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _plain(str, f"one of {', '.join(map(str, args))}", frozenset(args))
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        if getattr(args[0], "BY_COLUMN", False):
            return _columns(args[0])
        return _tuple(_converter(args[0]))
    if origin is Mapping and args == (str, Any):
        return _Converter(_json_object, _json_object)
    if origin in (Union, types.UnionType) and len(args) == 2 and type(None) in args:
        return _optional(_converter(args[0] if args[1] is type(None) else args[1]))
    raise TypeError(
        f"bad type {hint!r}: expected a dataclass, tuple[X, ...], X | None, Literal, "
        "Mapping[str, Any], str, int, float or bool"
    )


def _plain(cls: type, expected: str, choices: frozenset[Any] | None = None) -> _Converter:
    """Of a value that is written as it is, and may be one of some choices only."""

    def check(value: Any) -> Any:
        # An exact match: True is an int to isinstance, but no number of trials. What is no string
        # is never looked up: lists cannot be.
        if type(value) is not cls or not (choices is None or value in choices):
            raise RecordError("", value, expected)
        return value

    def decode_fast(values: list[Any]) -> list[Any] | None:
        fit = set(map(type, values)) <= {cls} and (choices is None or set(values) <= choices)
        return values if fit else None

    return _Converter(check, check, decode_fast)


def _decode_floats(values: list[Any]) -> list[Any] | None:
    # JSON's own parser gives no NaN, and infinity only for a literal that overflowed.
    if set(map(type, values)) != {float} or min(values) < -_LARGEST or max(values) > _LARGEST:
        return None
    return values


def _encode_float(value: Any) -> float | str:
    if isinstance(value, float):
        # Not itself: NumPy's float64 is a float as well.
        return "inf" if value == math.inf else _decode_float(float(value))
    if type(value) is int:
        return _decode_float(value)
    raise RecordError("", value, "a number")


def _decode_float(value: Any) -> float:
    # False for NaN and both infinities, also for a literal like 1e999 that overflowed.
    if type(value) is float and -_LARGEST <= value <= _LARGEST:
        return value
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            pass
    elif type(value) is str and value == "inf":
        return math.inf
    raise RecordError("", value, "a finite number or 'inf'")


def _optional(inner: _Converter) -> _Converter:
    def encode(value: Any) -> Any:
        return None if value is None else inner.encode(value)

    def decode(value: Any) -> Any:
        return None if value is None else inner.decode(value)

    def decode_fast(values: list[Any]) -> list[Any] | None:
        known = [value for value in values if value is not None]
        # What is taken over as it is may be taken over among nothings too.
        return values if not known or inner.decode_fast(known) is known else None

    return _Converter(encode, decode, decode_fast)


def _tuple(inner: _Converter) -> _Converter:
    """A tuple as a list."""

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, tuple):
            raise RecordError("", value, "a tuple")
        return _each(inner.encode, value)

    def decode(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise RecordError("", value, "a list")
        return tuple(_each(inner.decode, value))

    def decode_fast(values: list[Any]) -> list[Any] | None:
        if set(map(type, values)) != {list}:
            return None
        flat = list(itertools.chain.from_iterable(values))
        return list(map(tuple, values)) if not flat or inner.decode_fast(flat) is flat else None

    return _Converter(encode, decode, decode_fast)


def _columns(cls: Any) -> _Converter:
    """A tuple of records as an object with a list for each field."""
    hints = get_type_hints(cls)
    names = tuple(field.name for field in dataclasses.fields(cls))
    fields = tuple((name, _converter(hints[name])) for name in names)
    setters = tuple(getattr(cls, name).__set__ for name in names)

    def encode(records: Any) -> dict[str, Any]:
        if not isinstance(records, tuple) or any(type(record) is not cls for record in records):
            raise RecordError("", records, f"a tuple of {cls.__name__}")
        return {
            name: _within(name, field.encode_all, list(map(operator.attrgetter(name), records)))
            for name, field in fields
        }

    def decode(data: Any) -> tuple[Any, ...]:
        if type(data) is not dict or set(data) != set(names):
            raise RecordError("", data, f"an object with the lists {', '.join(names)}, no others")
        for name, column in data.items():
            if type(column) is not list or len(column) != len(data[names[0]]):
                raise RecordError(name, column, f"a list as long as {names[0]!r}")
        columns = [_within(name, field.decode_all, data[name]) for name, field in fields]
        # A frozen class's own constructor takes three times as long as all the rest of reading.
        records = tuple(map(cls.__new__, itertools.repeat(cls, len(columns[0]))))
        for setter, column in zip(setters, columns, strict=True):
            collections.deque(map(setter, records, column), maxlen=0)
        return records

    return _Converter(encode, decode)


def _within(step: str, convert: Callable[[Any], Any], value: Any) -> Any:
    """Convert a part, and tell an error's path from the whole."""
    try:
        return convert(value)
    except RecordError as error:
        raise error.within(step) from None


def _each(convert: Callable[[Any], Any], values: list[Any] | tuple[Any, ...]) -> list[Any]:
    converted: list[Any] = []
    try:
        # `extend` keeps what it got before an error, so the length is the culprit's index.
        converted.extend(map(convert, values))
    except RecordError as error:
        raise error.within(f"[{len(converted)}]") from None
    return converted


def _dataclass(cls: Any) -> _Converter:
    hints = get_type_hints(cls)
    names = tuple(field.name for field in dataclasses.fields(cls))
    encoders = tuple((name, _converter(hints[name]).encode) for name in names)
    later = {
        one.name: _converter(hints[one.name]).encode(one.default)
        for one in dataclasses.fields(cls)
        if "since" in one.metadata
    }
    decoders = tuple((name, _converter(hints[name]).decode) for name in names)

    def encode(record: Any) -> dict[str, Any]:
        if type(record) is not cls:
            raise RecordError("", record, f"a {cls.__name__}")
        return {name: _within(name, field, getattr(record, name)) for name, field in encoders}

    def decode(data: Any) -> Any:
        if type(data) is not dict:
            raise RecordError("", data, f"an object with the fields {', '.join(names)}")
        data = {**later, **data}
        for name in names:
            if name not in data:
                raise RecordError("", data, f"the field {name!r}, which is missing")
        for name, value in data.items():
            if name not in names:
                raise RecordError(name, value, f"no such field, only {', '.join(names)}")
        return cls(*[_within(name, field, data[name]) for name, field in decoders])

    return _Converter(encode, decode)


def _json_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise RecordError("", value, "an object")
    copied: dict[str, Any] = json_value(value)
    return copied
