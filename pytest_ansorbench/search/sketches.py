"""Tells which sketch a program was sampled from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.strategies.decisions.knobs import is_sampling

if TYPE_CHECKING:
    from tvm.s_tir import Schedule, Trace

#: The one attribute that a mutation rule changes; see `MutateParallel`.
_MUTABLE_ANNOTATION: Final = "meta_schedule.parallel"


def fingerprint(trace: Trace) -> str:
    """Identify the sketch behind a trace, independent of its decisions.

    Two sketches may consist of the same instructions and differ only in where a cached write
    is placed, so the fingerprint covers instructions, inputs, attributes and outputs, less what
    sampling and mutation may change: decisions, and the number of parallel jobs.
    """
    instructions, _ = trace.as_json(remove_postproc=True)
    stable = []
    for kind, inputs, attributes, outputs in instructions:
        if kind == "Annotate" and str(attributes[0]) == _MUTABLE_ANNOTATION:
            inputs = [inputs[0]]
        stable.append([str(kind), _text(inputs), _text(attributes), _text(outputs)])
    return hashlib.sha256(json.dumps(stable).encode()).hexdigest()[:12]


class SketchIndex:
    """Looks up the sketch of a candidate in a design space."""

    def __init__(self, sketches: Sequence[Schedule]) -> None:
        self.fingerprints = tuple(fingerprint(s.trace.simplified(True)) for s in sketches)
        self._index = {text: index for index, text in enumerate(self.fingerprints)}

    def of(self, trace: Trace) -> int:
        """Index of the sketch that a program was sampled from; -1 if from none of them."""
        return self._index.get(fingerprint(trace), -1)


def has_choices(sketches: Sequence[Schedule]) -> bool:
    """Whether a design space leaves anything to search for.

    A task that only moves data has one sketch without a decision in it: one program, which
    needs no tuning.
    """
    return any(is_sampling(one) for sketch in sketches for one in sketch.trace.insts)


def _text(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_text(item) for item in value]
    return str(value)
