"""Design spaces for tests: one with a schedule rule in Python, and some that are none."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ansorbench.strategies import stock_rules


@dataclass(frozen=True)
class Recomputing:
    """The target's own space, with a rule that recomputes what TVM's rules store."""

    def start(self, target):
        stock = stock_rules(target)
        behind = [type(rule).__name__ for rule in stock].index("AutoInline") + 1
        return post_order([*stock[:behind], ruled(recomputed), *stock[behind:]])


@dataclass(frozen=True)
class Tensorizing:
    """The target's own space, with an intrinsic that any CPU has: it is made of loops."""

    def start(self, target):
        from tvm.s_tir import TensorIntrin
        from tvm.s_tir.meta_schedule.postproc import Postproc, RewriteTensorize
        from tvm.s_tir.meta_schedule.schedule_rule import MultiLevelTilingWithIntrin, ReuseType

        TensorIntrin.register("sixteen_sums_of_four", *_sums(), override=True)
        stock = stock_rules(target)
        before = [type(rule).__name__ for rule in stock].index("MultiLevelTiling")
        tensorizing = MultiLevelTilingWithIntrin(
            "sixteen_sums_of_four",
            "SSRSRS",
            max_innermost_factor=64,
            reuse_write=ReuseType(req="may", levels=[1, 2], scope="global"),
        )
        rules = [*stock[:before], tensorizing, *stock[before:]]
        # Without the last one, blocks are made for the intrinsic and computed by loops.
        return post_order(rules, postprocs=[*Postproc.create("llvm"), RewriteTensorize()])


def _sums():
    """What VNNI computes, as TVM is to find it and as it is computed."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def found(
        A: T.Buffer((4,), "uint8", offset_factor=1),
        B: T.Buffer((16, 4), "int8", offset_factor=1),
        C: T.Buffer((16,), "int32", offset_factor=1),
    ) -> None:
        with T.sblock("root"):
            T.reads(C[0:16], A[0:4], B[0:16, 0:4])
            T.writes(C[0:16])
            for i, k in T.grid(16, 4):
                with T.sblock("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")

    @T.prim_func(s_tir=True)
    def computed(
        A: T.Buffer((4,), "uint8", offset_factor=1),
        B: T.Buffer((16, 4), "int8", offset_factor=1),
        C: T.Buffer((16,), "int32", offset_factor=1),
    ) -> None:
        with T.sblock("root"):
            T.reads(C[0:16], A[0:4], B[0:16, 0:4])
            T.writes(C[0:16])
            for i, k in T.grid(16, 4):
                C[i] = C[i] + T.cast(A[k], "int32") * T.cast(B[i, k], "int32")

    return found, computed


@dataclass(frozen=True)
class Paralleling:
    """The target's own space, with two mutation rules of one class."""

    def start(self, target):
        from tvm.s_tir.meta_schedule.mutator import MutateParallel

        return post_order(
            stock_rules(target), mutator_probs={MutateParallel(16): 0.25, MutateParallel(32): 0.75}
        )


@dataclass(frozen=True)
class Empty:
    """A space without sketches."""

    def start(self, target):
        return post_order([ruled(lambda sch, block: [])])


@dataclass(frozen=True)
class Broken:
    """A space whose rule fails."""

    def start(self, target):
        def fail(sch, block):
            raise ValueError("planted")

        return post_order([ruled(fail)])


@dataclass(frozen=True)
class Named:
    """No space, but the name of one."""

    def start(self, target):
        return "post-order-apply"


def post_order(rules, **others):
    from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

    return PostOrderApply(sch_rules=rules, **others)


def ruled(apply):
    """A function of a schedule and a block as a schedule rule."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.schedule_rule import PyScheduleRule

    @derived_object
    class Ruled(PyScheduleRule):
        def _initialize_with_tune_context(self, context):
            pass

        def apply(self, sch, block):
            return apply(sch, block)

        def clone(self):
            return ruled(apply)

    return Ruled()


def recomputed(sch, block):
    """The schedule, and if that is possible one whose block is computed wherever it is read."""
    from tvm.s_tir.schedule import ScheduleError

    other = sch.copy()
    try:
        other.compute_inline(block)
    except ScheduleError:
        return [sch]
    return [sch, other]
