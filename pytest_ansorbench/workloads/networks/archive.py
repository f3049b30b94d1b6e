"""PyTorch's archives of exported programs, read as data: what would be run as code is refused.

`torch.export.load` unpickles parts of an archive, loads libraries that lie in it, imports modules
that the structure of its inputs and outputs names, has SymPy evaluate its symbolic shapes and takes
the operators' names for attributes of `torch`
(https://docs.pytorch.org/docs/stable/export/api_reference.html#torch.export.load says never to
load one from an untrusted source). The archive of a plain model needs none of that, so it is
looked through first, and PyTorch gets to see another, of its JSON and raw tensors alone: with
numbers in place of symbols, and with inputs and outputs one by one.
"""

from __future__ import annotations

import io
import json
import re
import textwrap
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.workloads.networks.shapes import BadExpression, Dimension, Extent, Fixed

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_MODEL: Final = "models/model.json"
_SAMPLE_INPUTS: Final = "data/sample_inputs/model.pt"
_CONFIGS: Final = (
    "data/weights/model_weights_config.json",
    "data/constants/model_constants_config.json",
)
#: All that `torch.export.save` writes for a model of tensors.
_RECORDS: Final = re.compile(
    r"data/weights/(weight_\d+|model_weights_config\.json)"
    r"|data/constants/(tensor_\d+|model_constants_config\.json)"
    r"|data/sample_inputs/model\.pt|models/model\.json|extra/.*"
    r"|archive_format|archive_version|byteorder|\.data/\w+"
)
#: Those that PyTorch's writer does not write by itself.
_PAYLOAD: Final = re.compile(r"(data|models)/.*")
_TENSORS: Final = re.compile(r"(weight|tensor)_\d+")
#: Operators that PyTorch itself brings, and picking one of an operator's results.
_OPERATORS: Final = re.compile(
    r"torch\.ops\.aten\.(__(and|or|xor|lshift|rshift)__|(?!__)\w+)\.(?!__)\w+|_operator\.getitem"
)
_REGIONS: Final = "torch.ops.higher_order."
#: Keys of what is called so in the code that PyTorch makes of a program and runs.
_NAMES: Final = ("name", "as_name")


class UnsafeArchive(ValueError):
    """An archive that PyTorch would run code from; the message says what it is."""


def load_exported_program(
    content: bytes, fix: Callable[[Mapping[str, Sequence[Extent]]], Fixed]
) -> ExportedProgram:
    """Load what `torch.export.save` wrote, with fixed shapes; it returns a tuple of tensors.

    Args:
        content: The file.
        fix: Gives the dimensions of the inputs their numbers.

    Raises:
        UnsafeArchive: There is more in it than data.
    """
    from torch.export.pt2_archive._package import PT2ArchiveReader, load_pt2

    _require_stored(content)
    # PyTorch's own reader, lest another one sees other records in the same bytes.
    with PT2ArchiveReader(io.BytesIO(content)) as archive:
        model = _with_fixed_shapes(json.loads(archive.read_string(_MODEL)), fix)
        _require_data(archive, model)
        content = _with_model(archive, model)
    # Not `torch.export.load`, which falls back to an older format, and that is a pickle.
    program: ExportedProgram = load_pt2(io.BytesIO(content)).exported_programs["model"]
    return program


def _require_stored(content: bytes) -> None:
    """Refuse records that unpack to more than there is: PyTorch compresses none."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            records = archive.infolist()
    except Exception:  # zipfile raises many types; PyTorch's reader will say what is wrong
        return
    for record in records:
        if record.compress_type != zipfile.ZIP_STORED or record.file_size > len(content):
            raise UnsafeArchive(f"its record {record.filename!r} is compressed; PyTorch's are not")


def _require_data(archive: Any, model: Any) -> None:
    """Refuse an archive with anything in it that would be more than read."""
    names = archive.get_file_names()
    for name in names:
        if not _RECORDS.fullmatch(name):
            raise UnsafeArchive(f"it holds {name!r}, which PyTorch might run as code")
    for config in _CONFIGS:
        for tensor, payload in json.loads(archive.read_string(config))["config"].items():
            if payload["use_pickle"] or not _TENSORS.fullmatch(payload["path_name"]):
                raise UnsafeArchive(f"its tensor {tensor!r} is a pickle, which might run code")
    for key, value in _entries(model):
        if key == "expr_str":
            raise UnsafeArchive(f"{_short(value)!r} in it stands where no shape is")
        if key in _NAMES and isinstance(value, str) and value and not value.isidentifier():
            raise UnsafeArchive(
                f"its name {_short(value)!r} is no identifier, and PyTorch makes code of names"
            )
        if key != "target" or not isinstance(value, str):  # a tensor may be called so, too
            continue
        if value.startswith(_REGIONS):
            name = value.removeprefix(_REGIONS)
            cure = (
                "call torch.export.export within torch.no_grad() instead"
                if name == "wrap_with_set_grad_enabled"
                else "export what is in it as a model of its own"
            )
            raise UnsafeArchive(
                f"its {name} (torch.ops.higher_order) is a region of its own, as of a branch or a "
                f"loop, which cannot be imported; {cure}"
            )
        if not _OPERATORS.fullmatch(value):
            raise UnsafeArchive(f"its operator {value!r} is none of PyTorch's own (torch.ops.aten)")


def _with_model(archive: Any, model: Any) -> bytes:
    """The archive with another program."""
    from torch.export.pt2_archive._package import PT2ArchiveWriter

    buffer = io.BytesIO()
    with PT2ArchiveWriter(buffer) as changed:
        for name in archive.get_file_names():
            if name == _MODEL:
                changed.write_string(name, json.dumps(model))
            elif name == _SAMPLE_INPUTS:
                changed.write_bytes(name, b"")  # none: they are a pickle, and may not fit
            elif _PAYLOAD.fullmatch(name):
                changed.write_bytes(name, archive.read_bytes(name))
    return buffer.getvalue()


def _with_fixed_shapes(model: Any, fix: Callable[[Mapping[str, Sequence[Extent]]], Fixed]) -> Any:
    """A program with numbers in place of symbols, and without what only works numbers out.

    Python's values among the inputs and None among the outputs go as well: operators have the
    values that they were exported with.
    """
    module = model["graph_module"]
    graph, signature = module["graph"], module["signature"]
    inputs: dict[str, list[Extent]] = {}
    for spec in signature["input_specs"]:
        given = spec.get("user_input", {}).get("arg", {})
        if "as_sym_int" in given:
            raise UnsafeArchive(
                f"its input {given['as_sym_int']['as_name']!r} is a number and no tensor; export "
                "it without dynamic_shapes for that input"
            )
        if "as_tensor" in given:
            name = given["as_tensor"]["name"]
            inputs[name] = [_extent(size) for size in graph["tensor_values"][name]["sizes"]]
    fixed = fix(inputs)
    for symbol, allowed in model["range_constraints"].items():
        low, high = allowed["min_val"] or 0, allowed["max_val"]
        number = fixed.symbols.get(symbol, low)
        if number < low or (high is not None and number > high):
            raise UnsafeArchive(
                f"{symbol} would be {number}, and was exported for {low} to "
                f"{'any number' if high is None else high}"
            )
    numbers = {
        name: _number(value, fixed.symbols) for name, value in graph["sym_int_values"].items()
    }
    graph = {
        **graph,
        "nodes": [node for node in graph["nodes"] if not _is_of_sizes(node)],
        "sym_int_values": {},
    }
    program = {**module, "graph": graph, "signature": signature}
    # Guards are code, which PyTorch runs.
    without = {
        key: type(model[key])() for key in ("range_constraints", "guards_code") & model.keys()
    }
    return _replaced(
        {**model, **without, "graph_module": _of_tensors(program)}, fixed.symbols, numbers
    )


def _of_tensors(module: Any) -> Any:
    """A program without Python's values among inputs and outputs, which come one by one."""
    graph, signature = module["graph"], module["signature"]
    inputs = [
        pair
        for pair in zip(graph["inputs"], signature["input_specs"], strict=True)
        if "constant_input" not in pair[1]
    ]
    outputs = [
        pair
        for pair in zip(graph["outputs"], signature["output_specs"], strict=True)
        if "as_none" not in pair[0]
    ]
    given = sum("user_input" in spec for _, spec in inputs)
    returned = sum("user_output" in spec for _, spec in outputs)
    flat: dict[str, Any] = {
        "inputs": [],
        "outputs": [],
        "in_spec": json.dumps([1, _node("tuple", _leaves(given), _node("dict", context="[]"))]),
        "out_spec": json.dumps([1, _leaves(returned)]),
        "forward_arg_names": None,
    }
    return {
        **module,
        "graph": {
            **graph,
            "inputs": [one for one, _ in inputs],
            "outputs": [o for o, _ in outputs],
        },
        "signature": {
            **signature,
            "input_specs": [spec for _, spec in inputs],
            "output_specs": [spec for _, spec in outputs],
        },
        "module_call_graph": [{"fqn": "", "signature": flat}],
    }


def _leaves(count: int) -> Any:
    leaf: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
    return _node("tuple", *[leaf] * count)


def _node(kind: str, *children: Any, context: str = "null") -> Any:
    """A container as PyTorch's trees of values are written."""
    return {"type": f"builtins.{kind}", "context": context, "children_spec": [*children]}


def _is_of_sizes(node: Any) -> bool:
    """Whether an operator gives nothing but whole numbers, which are in the program's tables."""
    outputs = node["outputs"]
    return bool(outputs) and all("as_sym_int" in output for output in outputs)


def _replaced(value: Any, symbols: Mapping[str, int], numbers: Mapping[str, int]) -> Any:
    """A JSON value with a number for each expression and for each name of a number."""
    if isinstance(value, list):
        return [_replaced(item, symbols, numbers) for item in value]
    if not isinstance(value, dict):
        return value
    if "as_expr" in value:
        return {"as_int": _number(value, symbols)}
    result = {}
    for key, item in value.items():
        if key == "as_sym_int":
            item = _named_number(item, numbers)
        elif key == "as_sym_ints":
            item = [_named_number(one, numbers) for one in item]
        result[key] = _replaced(item, symbols, numbers)
    return result


def _named_number(value: Any, numbers: Mapping[str, int]) -> Any:
    name = value.get("as_name")
    return {"as_int": numbers[name]} if name in numbers else value


def _number(value: Any, symbols: Mapping[str, int]) -> int:
    """The number that a symbolic one has."""
    extent = _extent(value)
    if isinstance(extent, int):
        return extent
    if unknown := [symbol for symbol in extent.symbols if symbol not in symbols]:
        raise UnsafeArchive(
            f"its shape {_short(extent.text)} depends on {unknown[0]}, which no input's shape "
            "tells, as where it depends on values; leave out of the model what gives it"
        )
    try:
        return extent.value(symbols)
    except BadExpression:
        raise UnsafeArchive(f"its shape {_short(extent.text)} is no number then") from None


def _extent(value: Any) -> int | Dimension:
    """A number as PyTorch writes it."""
    if "as_int" in value:
        return int(value["as_int"])
    text = value["as_expr"]["expr_str"]
    try:
        return Dimension.parse(text)
    except BadExpression:
        raise UnsafeArchive(
            f"a shape in it is {_short(text)!r}; expected numbers, names and + - * // between "
            "them: export it without dynamic_shapes"
        ) from None


def _short(text: str) -> str:
    return textwrap.shorten(text, 100, placeholder=" ...")


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys with their values, at any depth of a JSON value."""
    if isinstance(value, dict):
        yield from value.items()
        for item in value.values():
            yield from _entries(item)
    elif isinstance(value, list):
        for item in value:
            yield from _entries(item)
