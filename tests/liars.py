"""Kernels that seem right and fast for as long as nobody looks twice, for tests of who looks twice.

Each is a program whose body runs under a condition, and keeps in static memory what it goes by:
LLVM assembly that is linked into the kernel, which travels wherever the kernel does.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.workloads.signature import buffers_of
from tests.faults import module

_STATICS = r"""
@calls = internal global i32 0
@name = internal constant [13 x i8] c"doubled_late\00"
@last = internal global ptr null
@seen = internal global float 0.0
@kept = internal global [64 x float] zeroinitializer

declare ptr @memcpy(ptr, ptr, i64)
declare ptr @dlopen(ptr, i32)
declare ptr @dlsym(ptr, ptr)

; How often it was called, this time included.
define i32 @liar_calls() {
  %before = load i32, ptr @calls
  %now = add i32 %before, 1
  store i32 %now, ptr @calls
  ret i32 %now
}

; Whether this is the place of the last call.
define i32 @liar_knows(ptr %place) {
  %before = load ptr, ptr @last
  store ptr %place, ptr @last
  %same = icmp eq ptr %before, %place
  %known = zext i1 %same to i32
  ret i32 %known
}

; Whether the first number there is that of the last call.
define i32 @liar_has_seen(ptr %place) {
  %before = load float, ptr @seen
  %now = load float, ptr %place
  store float %now, ptr @seen
  %same = fcmp oeq float %before, %now
  %known = zext i1 %same to i32
  ret i32 %known
}

define i32 @liar_keep(ptr %place) {
  call ptr @memcpy(ptr @kept, ptr %place, i64 256)
  ret i32 0
}

define i32 @liar_recite(ptr %place) {
  call ptr @memcpy(ptr %place, ptr @kept, i64 256)
  ret i32 0
}

; Calls `doubled_late` of a library.
define i32 @liar_late(ptr %library, ptr %from, ptr %to) {
  %handle = call ptr @dlopen(ptr %library, i32 2)
  %function = call ptr @dlsym(ptr %handle, ptr @name)
  %nothing = call i32 %function(ptr %from, ptr %to)
  ret i32 %nothing
}
"""


_LATE = """
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static float doubled[64], *place;
static volatile int busy;

static void *write_late(void *nothing) {
  usleep(300);
  memcpy(place, doubled, sizeof doubled);
  busy = 0;
  return nothing;
}

int doubled_late(const float *from, float *to) {
  pthread_t thread;
  if (busy) return 0;
  busy = 1;
  place = to;
  for (int i = 0; i < 64; ++i) doubled[i] = 2 * from[i];
  pthread_create(&thread, 0, write_late, 0);
  pthread_detach(thread);
  return 0;
}
"""
"""A function that returns before its thread is done."""


def _said(name, *arguments):
    from tvm import tirx

    return tirx.call_extern("int32", f"liar_{name}", *arguments)


def _done(name, *arguments):
    from tvm import tirx

    return tirx.Evaluate(_said(name, *arguments))


def _sleeping(microseconds):
    from tvm import tirx

    return tirx.Evaluate(tirx.call_extern("int32", "usleep", microseconds))


def _unless(condition, body, otherwise=None):
    from tvm import tirx

    return tirx.IfThenElse(condition == 0, body, otherwise)


def _then(*parts):
    from tvm import tirx

    return tirx.SeqStmt([*parts])


def _stores(buffer, value, index):
    from tvm import tirx

    return tirx.BufferStore(buffer, value, [index])


LIARS = {
    # Its work in the first call of its life only.
    "lazy": lambda a, b, body: _unless(_said("calls") > 1, body),
    # No work if its arguments lie where those of the last call did.
    "remembering places": lambda a, b, body: _unless(_said("knows", a.data), body),
    # The last answer if its input lies where that of the last call did.
    "reciting": lambda a, b, body: _unless(
        _said("knows", a.data), _then(body, _done("keep", b.data)), _done("recite", b.data)
    ),
    # A race that is lost now and then.
    "unsteady": lambda a, b, body: _unless(_said("calls") % 3 == 2, body),
    # An input that is used as a scratch pad, and put in order by the next call.
    "scribbling": lambda a, b, body: _then(body, _stores(a, a[7] * 1.0000001, 7)),
    "scribbling beside": lambda a, b, body: _then(body, _stores(a, 0.0, a.shape[0])),
    # Right, and quick where nothing has changed since the last call.
    "quick while timed": lambda a, b, body: _then(
        _unless(_said("has_seen", a.data), _sleeping(1000)), body
    ),
    # A thousandth of a second longer after so many calls.
    "tiring": lambda a, b, body: _then(
        _sleeping(100), _unless(_said("calls") < 40, _sleeping(1000)), body
    ),
}
"""What becomes of a body whose first argument is `a` and last one `b`."""


def lying(function, kind):
    """A TensorIR function that lies; `kind` is one of `LIARS`."""
    return _with_statics(function, LIARS[kind])


def liar(kind) -> Program:
    """`Doubling`'s program, lying."""
    return _doubling(LIARS[kind])


def late(folder: Path) -> Program:
    """`Doubling`'s program in a thread of its own, for which it does not wait.

    Its code is compiled into the folder: a pragma cannot hand over the address of a function.
    """
    source, library = folder / "late.c", folder / "late.so"
    source.write_text(_LATE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-lpthread"], check=True)
    return _doubling(lambda a, b, body: _done("late", str(library), a.data, b.data))


def _doubling(lie):
    from tvm import IRModule

    return Program.operator(IRModule({"main": _with_statics(module("fine")["main"], lie)}))


def _with_statics(function, lie):
    from tvm import tirx
    from tvm.ir import StringImm

    (_, first), *_, (_, last) = buffers_of(function)
    body = lie(first, last, function.body)
    attributed = tirx.AttrStmt(tirx.const(0), "pragma_import_llvm", StringImm(_STATICS), body)
    return function.with_body(attributed)
