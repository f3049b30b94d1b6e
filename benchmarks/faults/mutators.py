"""Ways to damage a file, by what it is made of: bytes, JSON, lines, gzip, zip, packed text.

Each takes random numbers, what the file holds, and what another of its kind holds; it gives the
damaged content and says in a few words what it did.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import gzip
import io
import json
import pickle
import random
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

Mutation = Callable[[random.Random, bytes, bytes], tuple[bytes, str]]

BOMB_BYTES: Final = 2 << 30
MARK: Final = "ansor-fault-mark"
"""A file that code makes which stands in a damaged file, in the current folder."""

_DUPLICATE: Final = "\0again"
_DEPTH: Final = 100_000
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2, 2**31, -(2**63), 2**64, 10**30, 10**400),
    *(0.5, -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")),
    *("", "inf", "nan", "a", "\0", "\ud800", "\x1b[31mred\n", "ü" * 20, "x" * 100_000, "1e999"),
    *("__import__('os').system('touch " + MARK + "')", "../../../../etc/passwd", "/dev/zero"),
    *([], {}, [[]], [None], {"": None}, [0] * 1000, {"a": {"b": [1, {"c": None}]}}),
)


def of_bytes(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
    """Damage as disks, networks and editors do it."""
    if not data:
        return other[:256] or b"x", "something in place of nothing"
    at = rng.randrange(len(data) + 1)
    length = min(rng.choice((1, 2, 4, 16, 256, 4096)), len(data))
    run = f"{length} bytes at {at}"
    match rng.randrange(11):
        case 0:
            changed = bytearray(data)
            places = [rng.randrange(len(data)) for _ in range(rng.choice((1, 1, 2, 8, 64)))]
            for place in places:
                changed[place] ^= 1 << rng.randrange(8)
            return bytes(changed), f"{len(places)} bits flipped, the first at {places[0]}"
        case 1:
            return data[:at], f"truncated at {at}"
        case 2:
            return data[at:], f"the first {at} bytes gone"
        case 3:
            return data[:at] + data[at + length :], f"{run} gone"
        case 4:
            return data[: at + length] + data[at:], f"{run} twice"
        case 5:
            return data[:at] + rng.randbytes(length) + data[at + length :], f"{run} at random"
        case 6:
            return data[:at] + bytes(length) + data[at + length :], f"{run} NUL"
        case 7:
            return data[:at] + b"\xff" * length + data[at + length :], f"{run} 0xff"
        case 8:
            there = rng.randrange(len(other) + 1)
            part = other[there : there + length]
            return data[:at] + part + data[at + length :], f"{run} from {there} of another"
        case 9:
            return data[:at] + other[at:], f"from {at} on another"
        case _:
            small = rng.choice(
                (b"", bytes(len(data)), b"\n", data * 2, other + data, rng.randbytes(99))
            )
            return small, f"{len(small)} bytes in its place"


def of_json(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
    """Damage to a JSON value, as other programs do it."""
    value = json.loads(data)
    spots = [*_spots(value)]
    if not spots or rng.random() < 0.02:
        depth = rng.choice((65, 1_000, _DEPTH))
        head, tail = rng.choice((("[", "]"), ('{"a":', "}")))
        return (head * depth + "1" + tail * depth).encode(), f"{depth} deep"
    words = []
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        holder, key = rng.choice(spots)
        words.append(_change(rng, holder, key, spots))
    text = json.dumps(value)
    return text.replace(json.dumps(_DUPLICATE)[1:-1], "").encode(), "; ".join(words)


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places in a JSON value, by their holders."""
    if isinstance(value, dict | list):
        for key in [*value] if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _spots(value[key])


def _change(rng: random.Random, holder: Any, key: Any, spots: list[tuple[Any, Any]]) -> str:
    if not _is_there(holder, key):
        return "nothing more"
    old = holder[key]
    what = f"{key!r}"[:40]
    is_number = isinstance(old, int | float) and not isinstance(old, bool)
    match rng.randrange(9):
        case 0:
            del holder[key]
            return f"{what} gone"
        case 1 if isinstance(holder, dict):
            holder[f"{key}{_DUPLICATE}"] = rng.choice((old, _value(rng)))
            return f"{what} twice"
        case 1:
            holder.insert(key, old)
            return f"{what} twice"
        case 2 if isinstance(holder, dict):
            holder[f"{key}x"] = holder.pop(key)
            return f"{what} renamed"
        case 3:
            other, place = rng.choice(spots)
            if _is_there(other, place):
                holder[key] = json.loads(json.dumps(other[place]))
            return f"{what} as {place!r}"[:80]
        case 4 if is_number:
            holder[key] = -old
            return f"{what} negative"
        case 4 | 5 if is_number:
            times = rng.choice((2, 0.5, 10**6, 1e-6, 10**15, 1e300))
            holder[key] = old * times if abs(old) < 1e300 else 0
            return f"{what} scaled"
        case 6 if is_number:
            holder[key] = old + rng.choice((1, -1, 0.5)) if abs(old) < 1e300 else 0
            return f"{what} shifted"
        case 5 | 6 if isinstance(old, list):
            rng.shuffle(old)
            return f"{what} shuffled"
        case 4 | 5 | 6 if isinstance(old, str):
            holder[key] = of_packed(rng, old)
            return f"{what}: what is packed in it"
        case _:
            new = _value(rng)
            holder[key] = new
            return f"{what} {new!r}"[:80]


def _is_there(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _value(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(VALUES))


def of_packed(rng: random.Random, text: str) -> str:
    """A text with damage to what is packed in it; any other text is cut, or goes on."""
    try:
        inner = base64.b64decode(text, validate=True)
    except ValueError:
        inner = b""
    if not inner:
        return rng.choice((text[: len(text) // 2], text * 3, text[::-1], text + "\n"))
    try:
        content, pack = zlib.decompress(inner), zlib.compress
    except zlib.error:
        content, pack = inner, bytes
    try:
        damaged, _ = rng.choice((of_json, of_json, of_json, of_bytes))(rng, content, content)
    except ValueError:
        damaged, _ = of_bytes(rng, content, content)
    if pack is zlib.compress and rng.random() < 0.02:
        return base64.b64encode(_zlib_bomb()).decode()
    return base64.b64encode(pack(damaged)).decode()


def of_lines(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
    """Damage to a file of one JSON value a line."""
    lines = data.split(b"\n")
    at = rng.randrange(max(len(lines) - 1, 1))
    number = f"line {at + 1}"
    match rng.randrange(10):
        case 0:
            del lines[at]
            what = "gone"
        case 1:
            lines.insert(at, lines[at])
            what = "twice"
        case 2:
            lines.insert(at, rng.choice((b"", b" ", b"\0" * 50, b"null", b"[]", b"{}", b"1")))
            what = "after another of nothing"
        case 3:
            there = rng.randrange(max(len(lines) - 1, 1))
            lines[at], lines[there] = lines[there], lines[at]
            what = f"and {there + 1} in each other's place"
        case 4:
            lines[at] = rng.choice(other.split(b"\n"))
            what = "of another file"
        case 5:
            lines[at], what = of_bytes(rng, lines[at], lines[-1])
        case _:
            lines[at], what = of_json(rng, lines[at], lines[0])
    return b"\n".join(lines), f"{number} {what}"


def of_gzip(inner: Mutation) -> Mutation:
    """Damage to a compressed file, or to what is compressed in it."""

    def mutate(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
        match rng.randrange(12):
            case 0 | 1 | 2:
                return of_bytes(rng, data, other)
            case 3:
                return data + other, "two members"
            case 4:
                return data + rng.randbytes(50), "more behind its end"
            case 5:
                return gzip.compress(data, 1, mtime=0), "compressed twice"
            case 6:
                return gzip.decompress(data), "not compressed"
            case 7 if rng.random() < 0.2:
                return _gzip_bomb(rng.choice((b"\0", b" ", b"x"))), "a bomb"
            case _:
                changed, what = inner(rng, gzip.decompress(data), gzip.decompress(other))
                return gzip.compress(changed, 1, mtime=0), what

    return mutate


@cache
def _gzip_bomb(byte: bytes) -> bytes:
    part = 64 << 20
    return gzip.compress(byte * part, 1, mtime=0) * (BOMB_BYTES // part)


@cache
def _zlib_bomb() -> bytes:
    packer = zlib.compressobj(1)
    part = bytes(64 << 20)
    return b"".join(packer.compress(part) for _ in range(BOMB_BYTES // len(part))) + packer.flush()


def of_zip(inner: Callable[[str], Mutation], method: int = zipfile.ZIP_DEFLATED) -> Mutation:
    """Damage to an archive, or to one of its entries, which `inner` chooses by its name."""

    def mutate(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
        if rng.random() < 0.25:
            return of_bytes(rng, data, other)
        entries, others = _entries(data), _entries(other)
        name = rng.choice([*entries])
        how = method
        match rng.randrange(12):
            case 0:
                del entries[name]
                what = "gone"
            case 1:
                entries[f"{name}x"] = entries.pop(name)
                what = "renamed"
            case 2:
                there = rng.choice([*entries])
                entries[name], entries[there] = entries[there], entries[name]
                what = f"and {there} in each other's place"
            case 3:
                entries[name] = rng.choice([*others.values()])
                what = "of another archive"
            case 4:
                entries[rng.choice(("../../x", "/x", "extra/x.so", "x.npy", "a" * 300))] = b"x"
                what = "and one that is none of it"
            case 5:
                how = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
                what = f"as all others by method {how}"
            case 6:
                # Of all entries, in their headers and in the directory.
                changed = bytearray(_zipped(entries, method))
                field, value = rng.choice(((6, 1), (8, 99), (8, 14), (7, 8), (10, 255)))
                for mark, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
                    at = changed.find(mark)
                    while at >= 0:
                        changed[at + field + shift] = value
                        at = changed.find(mark, at + 4)
                return bytes(changed), f"byte {field} of all headers {value}"
            case 7 if rng.random() < 0.2:
                return _zip_bomb(name, entries[name][:128]), f"{name} a bomb"
            case _:
                entries[name], what = inner(name)(
                    rng, entries[name], rng.choice([*others.values()])
                )
        return _zipped(entries, how), f"{name} {what}"

    return mutate


def _entries(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(entries: dict[str, bytes], method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


@cache
def _zip_bomb(name: str, head: bytes) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as entry,
    ):
        entry.write(head)
        for _ in range(BOMB_BYTES >> 26):
            entry.write(bytes(64 << 20))
    return buffer.getvalue()


class _Touch:
    """Unpickled, it makes the mark."""

    def __reduce__(self) -> tuple[Any, tuple[str, ...]]:
        return Path(MARK).touch, ()


def of_npy(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
    """Damage to an array of NumPy's: its header is text, which says how much follows."""
    match rng.randrange(5):
        case 0:
            return of_bytes(rng, data, other)
        case 1:
            pickled = pickle.dumps([_Touch()])
            return _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + pickled, (
                "a pickle"
            )
        case _:
            descr = rng.choice(("<f4", "<f8", "|O", "<U999999999", "|V2147483647", "<M8[s]", "zz"))
            shape = rng.choice(
                (
                    *("()", "(0,)", "(-1,)", "(10**12,)", "(1000000000000,)"),
                    *("(99999, 99999, 99999)", "(3,)", "3", "(1.5,)", "('a',)"),
                    *("(" + "1," * 70 + ")", "(300000000,)", "(9223372036854775807,)"),
                    *("(18446744073709551616,)", "[" * 200 + "]" * 200),
                )
            )
            header = rng.choice(
                (
                    f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}",
                    f"{{'descr': [('a', '{descr}')], 'fortran_order': True, 'shape': {shape}, }}",
                    f"__import__('os').system('touch {MARK}')",
                    "{" * 5000,
                    "{'descr': '<f4'}",
                    "1" * 9_000,
                )
            )
            return _npy(header) + data[128:], f"a header {header[:60]}"


def _npy(header: str) -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + (len(text) % 65536).to_bytes(2, "little") + text


def of_onnx(rng: random.Random, data: bytes, other: bytes) -> tuple[bytes, str]:
    """Damage to an ONNX model as its protocol buffers know it."""
    import onnx
    from google.protobuf.message import DecodeError

    if rng.random() < 0.3:
        return of_bytes(rng, data, other)
    model = onnx.load_from_string(data)
    words = []
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        with contextlib.suppress(DecodeError):  # deeper than protocol buffers are read
            words.append(_in_onnx(rng, model))
    return model.SerializeToString(), "; ".join(words)


def _in_onnx(rng: random.Random, model: Any) -> str:
    from google.protobuf.message import DecodeError
    from onnx import TensorProto, helper

    graph = model.graph
    number = rng.choice((0, 1, -1, 2, 7, 1000, 2**31, 2**40, -(2**63), 2**63 - 1))
    node = rng.choice(graph.node) if graph.node else graph.node.add()
    tensor = rng.choice(graph.initializer) if graph.initializer else graph.initializer.add()
    names = [name for one in graph.node for name in (*one.input, *one.output)] + ["", "none"]
    match rng.randrange(16):
        case 0:
            node.op_type = rng.choice(
                (
                    *("", "Relu", "Conv", "Gather", "Reshape", "If", "Loop", "Scan", "Resize"),
                    *("Expand", "Tile", "ConstantOfShape", "Range", "LSTM", "Pad", "Slice"),
                    *("TopK", "é"),
                )
            )
            return f"operator {node.op_type!r}"
        case 1 | 2 if node.attribute:
            one = rng.choice(node.attribute)
            kept = one.name
            value = rng.choice((number, [number] * rng.randrange(7), 1e30, "x", [], float("nan")))
            attribute = helper.make_attribute(
                kept, value, attr_type=helper.AttributeProto.INTS if value == [] else None
            )
            one.CopyFrom(attribute)
            return f"{node.op_type} {kept} {value!r}"
        case 3 if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(names)
            return f"{node.op_type} of another input"
        case 4 if node.output:
            node.output[rng.randrange(len(node.output))] = rng.choice(names)
            return f"{node.op_type} of another output"
        case 5:
            graph.node.remove(node)
            return f"{node.op_type} gone"
        case 6:
            graph.node.add().CopyFrom(node)
            return f"{node.op_type} twice"
        case 7 if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = number
            return f"{tensor.name} with extent {number}"
        case 8:
            tensor.data_type = rng.choice([*TensorProto.DataType.values(), 99])
            return f"{tensor.name} of type {tensor.data_type}"
        case 9:
            tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
            return f"{tensor.name} shorter"
        case 10:
            tensor.data_location = TensorProto.EXTERNAL
            where = rng.choice(("/etc/passwd", "../../../etc/passwd", "/dev/zero", "", "x", "\0"))
            for key, value in (("location", where), ("offset", str(number)), ("length", "9" * 15)):
                entry = tensor.external_data.add()
                entry.key, entry.value = key, value
            return f"{tensor.name} in {where!r}"
        case 11:
            one = rng.choice([*graph.input, *graph.output])
            shape = one.type.tensor_type.shape
            for extent in shape.dim:
                extent.dim_value = rng.choice((number, 4))
            return f"{one.name} with extent {number}"
        case 12:
            one = rng.choice([*graph.input, *graph.output])
            one.type.tensor_type.elem_type = rng.choice([*TensorProto.DataType.values(), 99])
            return f"{one.name} of another type"
        case 13:
            del model.opset_import[:]
            if rng.random() < 0.8:
                model.opset_import.append(helper.make_opsetid(rng.choice(("", "x")), number))
            return f"operators of version {number}"
        case 14:
            inner = graph
            for _ in range(rng.choice((2, 10, 22))):
                outer = helper.make_graph([], "deep", [], [])
                try:
                    holder = helper.make_node("If", ["none"], ["out"], then_branch=inner)
                except DecodeError:  # as deep as protobuf goes
                    break
                outer.node.add().CopyFrom(holder)
                inner = outer
            graph.node.add().CopyFrom(inner.node[0])
            return "branches in branches"
        case _:
            graph.output[0].name = rng.choice(names)
            return "another output"
