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


def post_order(rules):
    from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

    return PostOrderApply(sch_rules=rules)


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
