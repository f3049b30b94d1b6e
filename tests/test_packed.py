"""Programs and schedules as text come back as they were, or are refused."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from pytest_ansorbench.packed import (
    PackedError,
    deflated,
    inflated,
    pack_program,
    pack_schedule,
    unpack_program,
    unpack_schedule,
)
from tests.faults import module
from tests.strategies.setups import MATMUL


def tiled():
    """A schedule with a trace."""
    from tvm.s_tir import Schedule

    schedule = Schedule(MATMUL.tasks()[0].mod)
    [block] = schedule.get_child_blocks(schedule.get_sblock("root"))
    schedule.split(schedule.get_loops(block)[1], [4, 4])
    return schedule


def test_a_program_comes_back_equal():
    from tvm_ffi import structural_equal

    mod = MATMUL.tasks()[0].mod
    assert structural_equal(unpack_program(pack_program(mod)), mod)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%", "expected packed text"),
        ("bm8=", "expected packed text"),
        (base64.b64encode(zlib.compress(b"{}")).decode(), "by this version of TVM"),
    ],
)
def test_text_that_is_no_program_is_refused(text, message):
    with pytest.raises(PackedError, match=message):
        unpack_program(text)


def test_a_schedule_comes_back_as_its_trace():
    from tvm_ffi import structural_equal

    schedule = tiled()
    text = pack_schedule(schedule.trace, schedule.mod)
    again = unpack_schedule(text, MATMUL.tasks()[0].mod)
    assert structural_equal(again.mod, schedule.mod)
    assert len(again.trace.insts) == len(schedule.trace.insts) > 0


def test_a_schedule_without_a_trace_comes_back_as_its_program():
    from tvm.s_tir import Schedule
    from tvm_ffi import structural_equal

    schedule = Schedule(module("fine"))
    text = pack_schedule(schedule.trace, schedule.mod)
    assert structural_equal(unpack_schedule(text, MATMUL.tasks()[0].mod).mod, module("fine"))


def test_a_schedule_that_does_not_apply_is_refused():
    schedule = tiled()
    text = pack_schedule(schedule.trace, schedule.mod)
    with pytest.raises(PackedError, match="its trace does not fit the program"):
        unpack_schedule(text, module("fine"))


@pytest.mark.parametrize("packed", [[], [{}], [{"trace": []}, {"trace": []}], [1], [{"x": 1}]])
def test_other_values_are_no_schedule(packed):
    with pytest.raises(PackedError, match="expected one packed schedule"):
        unpack_schedule(deflated(json.dumps(packed)), None)


def test_text_comes_back():
    assert inflated(deflated("für\n")) == "für\n"
