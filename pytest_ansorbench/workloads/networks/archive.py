"""PyTorch's archives of exported programs, read as data: what would be run as code is refused.

`torch.export.load` unpickles parts of an archive, loads libraries that lie in it, has SymPy
evaluate its symbolic shapes and takes the operators' names for attributes of `torch`
(https://docs.pytorch.org/docs/stable/export/api_reference.html#torch.export.load says never to
load one from an untrusted source). The archive of a plain model needs none of that, so it is
looked through first, and PyTorch gets to see the same bytes only if they are nothing but JSON
and raw tensors.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

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
_TENSORS: Final = re.compile(r"(weight|tensor)_\d+")
#: Operators that PyTorch itself brings, and picking one of an operator's results.
_OPERATORS: Final = re.compile(r"torch\.ops\.aten\.(?!__)\w+\.(?!__)\w+|_operator\.getitem")


class UnsafeArchive(ValueError):
    """An archive that PyTorch would run code from; the message says what it is."""


def load_exported_program(content: bytes) -> ExportedProgram:
    """Load what `torch.export.save` wrote."""
    from torch.export.pt2_archive._package import PT2ArchiveReader, load_pt2

    # PyTorch's own reader, lest another one sees other records in the same bytes.
    with PT2ArchiveReader(io.BytesIO(content)) as archive:
        _require_data(archive)
    # Not `torch.export.load`, which falls back to an older format, and that is a pickle.
    program: ExportedProgram = load_pt2(io.BytesIO(content)).exported_programs["model"]
    return program


def _require_data(archive: Any) -> None:
    """Refuse an archive with anything in it that would be more than read."""
    import torch

    names = archive.get_file_names()
    for name in names:
        if not _RECORDS.fullmatch(name):
            raise UnsafeArchive(f"it holds {name!r}, which PyTorch might run as code")
    for config in _CONFIGS:
        for tensor, payload in json.loads(archive.read_string(config))["config"].items():
            if payload["use_pickle"] or not _TENSORS.fullmatch(payload["path_name"]):
                raise UnsafeArchive(f"its tensor {tensor!r} is a pickle, which might run code")
    try:
        # PyTorch will load it likewise, and only if that fails without the restriction.
        torch.load(io.BytesIO(archive.read_bytes(_SAMPLE_INPUTS)), weights_only=True)
    except Exception as error:
        raise UnsafeArchive("its sample inputs are more than tensors") from error
    for key, value in _entries(json.loads(archive.read_string(_MODEL))):
        if key == "expr_str":
            raise UnsafeArchive(
                f"a shape in it is {value!r}; expected fixed shapes: export it without "
                "dynamic_shapes"
            )
        if key == "target" and not _OPERATORS.fullmatch(str(value)):
            raise UnsafeArchive(f"its operator {value!r} is none of PyTorch's own (torch.ops.aten)")


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys with their values, at any depth of a JSON value."""
    if isinstance(value, dict):
        yield from value.items()
        for item in value.values():
            yield from _entries(item)
    elif isinstance(value, list):
        for item in value:
            yield from _entries(item)
