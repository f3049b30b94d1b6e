"""The child's side of `worker`: compiles, runs and checks candidates, one request at a time.

Started as `python -m pytest_ansorbench.measure.worker_main`. Requests are JSON lines on
standard input; each gets one JSON line in reply. A fault of the candidate that leaves the
process alive is a reply with `error`; one that does not is seen by the parent.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Check


def main() -> None:
    """Serve requests until standard input ends, which is when the parent is gone."""
    replies = _claim_stdout()
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    serve = _Server()
    while True:
        reply = serve(requests.get())
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _claim_stdout() -> IO[str]:
    """Keep standard output for replies and send everybody else's output to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return replies


def _read_requests(requests: SimpleQueue[dict[str, Any]]) -> None:
    # In a thread, so that a parent's death ends a child that is stuck in a kernel.
    for line in sys.stdin.buffer:
        requests.put(json.loads(line))
    os._exit(0)


class _Server:
    """Answers requests and keeps what successive ones share: the check's arrays."""

    def __init__(self) -> None:
        self._check: tuple[str, Check] | None = None
        self._handlers: dict[str, Callable[..., dict[str, Any]]] = {
            "warm-up": self.warm_up,
            "build": self.build,
            "run": self.run,
        }

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        handler = self._handlers[request.pop("op")]
        try:
            return handler(**request)
        except Exception as error:  # whatever a candidate provokes is a failed trial
            return {"error": f"{type(error).__name__}: {_first_line(error)}"}

    def warm_up(self, work: str, scratch: str) -> dict[str, Any]:
        """Import TVM and, to build, take a trivial kernel through compiler and linker."""
        import tvm

        if work == "build":
            from tvm import te

            source = te.placeholder((1,), "float32", name="source")
            func = te.create_prim_func([source, te.compute((1,), lambda i: source[i] + 1.0)])
            mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
            self.build(tvm.ir.save_json(mod), '{"kind": "llvm"}', scratch)
            os.unlink(scratch)
        return {}

    def build(self, mod: str, target: str, artifact: str) -> dict[str, Any]:
        """Compile a module, given as TVM's JSON, into a shared library at `artifact`."""
        import tvm
        from tvm.driver import build
        from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock
        from tvm.target import Target

        # As MetaSchedule's own `default_build` does, less the import of all intrinsics:
        # a tensorized schedule carries the intrinsic's body already.
        program = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(tvm.ir.load_json(mod))
        build(program, target=Target(json.loads(target))).export_library(artifact)
        return {}

    def run(
        self,
        artifact: str,
        arguments: list[tuple[str, list[int]]],
        number: int,
        repeat: int,
        min_repeat_ms: int,
        check: str | None,
    ) -> dict[str, Any]:
        """Time a compiled kernel on real inputs and compare what it wrote with the reference."""
        import numpy as np
        import tvm

        module = tvm.runtime.load_module(artifact)
        device = tvm.cpu()
        reference = self._load_check(check)
        if reference is None:
            rng = np.random.default_rng(0)
            tensors = [
                tvm.runtime.tensor(rng.uniform(-1, 1, shape).astype(dtype), device)
                for dtype, shape in arguments
            ]
        else:
            tensors = [tvm.runtime.tensor(array, device) for array in reference.inputs]
            tensors += [
                tvm.runtime.tensor(np.full(shape, np.nan, dtype), device)
                for dtype, shape in arguments[len(tensors) :]
            ]
        evaluator = module.time_evaluator(
            "main", device, number=number, repeat=repeat, min_repeat_ms=min_repeat_ms
        )
        latencies = [float(seconds) for seconds in evaluator(*tensors).results]
        if reference is not None:
            from pytest_ansorbench.measure.check import mismatch

            wrong = mismatch(tensors[-1].numpy(), reference)
            if wrong:
                return {"wrong": wrong}
        return {"latencies_s": latencies}

    def _load_check(self, path: str | None) -> Check | None:
        if path is None:
            return None
        if self._check is None or self._check[0] != path:
            from pytest_ansorbench.measure.check import load_check

            self._check = (path, load_check(Path(path)))
        return self._check[1]


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    # TVM puts its stack trace first and the message last.
    return lines[-1].strip()[:300] if lines else ""


if __name__ == "__main__":
    main()
