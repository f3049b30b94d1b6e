"""A schedule rule of one's own as a strategy: a conftest.py to begin with."""

from dataclasses import dataclass

from pytest_ansorbench.strategies import StockEvolution, Strategy, stock_rules


@dataclass(frozen=True)
class Recomputing:
    """TVM's rules, and one that may compute elements anew wherever they are read."""

    def start(self, target):
        from tvm.ir.utils import derived_object
        from tvm.s_tir.meta_schedule.schedule_rule import PyScheduleRule
        from tvm.s_tir.meta_schedule.space_generator import PostOrderApply
        from tvm.s_tir.schedule import ScheduleError

        @derived_object
        class Recompute(PyScheduleRule):
            def _initialize_with_tune_context(self, context):
                pass

            def apply(self, sch, block):
                """The schedules that go on from here: as it is, and with the block inlined."""
                other = sch.copy()
                try:
                    other.compute_inline(block)
                except ScheduleError:
                    return [sch]
                return [sch, other]

            def clone(self):
                return Recompute()

        rules = stock_rules(target)
        behind = [type(rule).__name__ for rule in rules].index("AutoInline") + 1
        return PostOrderApply(sch_rules=[*rules[:behind], Recompute(), *rules[behind:]])


RECOMPUTING = Strategy("recomputing", proposer=StockEvolution(), space=Recomputing())


def pytest_ansorbench_strategies(config):
    return [RECOMPUTING]
