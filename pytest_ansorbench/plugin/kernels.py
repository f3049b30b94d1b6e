"""The plugin behind `--ansor-kernels`: saved kernels are made again, case by case, and judged."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.resolve import resolve
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.fixture import UndecidedWarning, the_case
from pytest_ansorbench.plugin.keywords import keywords_of
from pytest_ansorbench.plugin.refusals import in_options
from pytest_ansorbench.plugin.selection import bench_items, case_id, select
from pytest_ansorbench.plugin.usage import failure, usage
from pytest_ansorbench.records.rebuilt_kernels import RebuiltKernel, RebuiltKernels
from pytest_ansorbench.storage import StorageError, find_saved, read_result, write_rebuilt

if TYPE_CHECKING:
    from pytest_ansorbench.measure.local.toolchains import LocalToolchains
    from pytest_ansorbench.records import CaseResult, NoiseTrace
    from pytest_ansorbench.records.rebuilt_kernels import KernelsVerdict
    from pytest_ansorbench.stats.rebuilt_ratios import KernelLimits
    from pytest_ansorbench.winners import Winner
    from pytest_ansorbench.workloads import Case

SUITE: Final = "kernels"
"""Name of the test of all kernels together."""


class KernelBench:
    """One session with `--ansor-kernels`, in place of one that searches."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the result.

        Raises:
            pytest.UsageError: There is none, it keeps no schedules, or other options contradict.
        """
        self.config = config
        self.settings = usage(resolve, config)
        _check_options(self.settings)
        wanted = self.settings.kernels.result
        assert wanted is not None
        try:
            path = find_saved(config.rootpath / self.settings.files.storage, wanted)
            self._result = read_result(path)
        except StorageError as error:
            raise pytest.UsageError(
                f"bad {flag_of('kernels.result')}: {in_options(error)}"
            ) from None
        self._winners = self._fastest()
        if not self._winners:
            raise pytest.UsageError(
                f"bad {flag_of('kernels.result')} {wanted!r}: expected a result that keeps "
                "schedules, as those of before schema version 8 do not; measure again"
            )
        self._toolchains: LocalToolchains | None = None
        self._gates = (0, 0)
        self._rebuilt = RebuiltKernels(
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            toolchains={},
            kernels=(),
        )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Select cases, and count the gates that false alarms are shared out among."""
        if self.settings.cases:
            selected = select(items, self.settings.cases)
            self.config.hook.pytest_deselected(items=[i for i in items if i not in selected])
            items[:] = selected
        tests = [*bench_items(items)]
        gated = [test for test in tests if self._limits(test).kernel is not None]
        challengers = len(self.settings.kernels.variants) + (not self._is_plain_reference)
        kernels = sum(len(self._winners_of(case_id(test) or "")) for test in gated)
        suite = self._suite_limit is not None
        self._gates = (challengers * kernels, challengers if suite else 0)
        if tests and suite:
            items.append(_Suite.from_parent(session, name=SUITE, nodeid=_NODE_ID, bench=self))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Start the toolchains once, before the first case, if there is one to be run."""
        if self.config.getoption("collectonly") or not any(bench_items(session.items)):
            return
        from pytest_ansorbench.environment import ToolchainError
        from pytest_ansorbench.kernels import another_machine, steady_then
        from pytest_ansorbench.measure.engine import EngineError
        from pytest_ansorbench.measure.local.toolchains import local_toolchains
        from pytest_ansorbench.measure.toolchain import toolchains

        settings = self.settings
        target = settings.target or str(
            self._result.machines[self._winners[0].machine].get("target")
        )
        try:
            self._toolchains = local_toolchains(
                target,
                settings.engine,
                toolchains(settings.kernels.against, settings.kernels.variants),
            )
            if self._is_recorded:
                machine = self._toolchains.own.machine
                if difference := another_machine([self._result], self._winners, machine):
                    raise pytest.UsageError(
                        f"bad {flag_of('kernels.result')}: its latencies were measured on another "
                        f"machine ({difference}); give {flag_of('kernels.against')} PYTHON, whose "
                        "kernels are measured here"
                    )
                then = steady_then([self._result], self._winners)
                self._rebuilt = replace(self._rebuilt, noise_then=then)
            self._toolchains.start()
            self._rebuilt = replace(
                self._rebuilt,
                toolchains=dict(self._toolchains.machines),
                noise_now=self._steady(),
            )
        except (EngineError, ToolchainError) as error:
            raise pytest.UsageError(in_options(error)) from None

    def pytest_sessionfinish(self) -> None:
        """End all processes, and write what there is."""
        path = self.settings.files.json
        if path is not None and self._rebuilt.kernels:
            write_rebuilt(self._rebuilt, path)
        self._close()

    def pytest_unconfigure(self) -> None:
        """End all processes, however the session ended."""
        self._close()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of all kernels."""
        if not self._rebuilt.kernels:
            return
        from pytest_ansorbench.plugin.terminal import print_report
        from pytest_ansorbench.report import kernels_report

        terminalreporter.section("ansor kernels")
        report = kernels_report(self._rebuilt, self.judge(self._rebuilt.kernels))
        print_report(terminalreporter, report)

    def test(self, item: pytest.Item) -> OneKernelTest:
        """The fixture's value for a test."""
        return OneKernelTest(self, item)

    def run(self, item: pytest.Item, case: Case) -> tuple[CaseResult, tuple[KernelsVerdict, ...]]:
        """Make the kernels of a case again; the saved result, and their verdicts."""
        __tracebackhide__ = True
        from pytest_ansorbench.kernels import compare_kernels
        from pytest_ansorbench.measure.engine import EngineError

        winners = self._winners_of(case.id)
        if not winners:
            pytest.skip(f"{self.settings.kernels.result} keeps no schedule of {case.id}")
        assert self._toolchains is not None
        made: dict[int, RebuiltKernel] = {}
        try:
            names = self._toolchains.names
            for place, kernel in compare_kernels(
                [(winner,) * len(names) for winner in winners],
                self._toolchains,
                self.settings.kernels.rounds.effort,
                recorded=self._is_recorded,
                case_of=lambda name: case,
            ):
                made[place] = kernel
        except EngineError as error:
            raise failure(f"the measurement engine gave up: {error}") from None
        finally:
            kernels = tuple(made[place] for place in sorted(made))
            self._rebuilt = replace(self._rebuilt, kernels=(*self._rebuilt.kernels, *kernels))
        saved = next(one for one in self._result.cases if one.case == case.id)
        return saved, self.judge(kernels, self._limits(item))

    def judge(
        self, kernels: Sequence[RebuiltKernel], limits: KernelLimits | None = None
    ) -> tuple[KernelsVerdict, ...]:
        """Judge some kernels; without limits of a test, by those of the session."""
        from pytest_ansorbench.stats.rebuilt_ratios import KernelLimits, judge_rebuilt

        if limits is None:
            limits = KernelLimits(self.settings.limits.get("throughput_ratio"), self._suite_limit)
        some = replace(self._rebuilt, kernels=tuple(kernels))
        return judge_rebuilt(some, self.settings.criteria, limits, self._gates)

    @property
    def every_kernel(self) -> tuple[RebuiltKernel, ...]:
        """Those made so far."""
        return self._rebuilt.kernels

    def _steady(self) -> tuple[NoiseTrace, ...]:
        """How fast the machine is, where that is compared with how fast it was."""
        from pytest_ansorbench.measure.noise_probe import observe_noise

        seconds = self.settings.experiment.noise_check_s
        if not self._is_recorded or not seconds or self._toolchains is None:
            return ()
        seen = observe_noise(self._toolchains.own, seconds)
        return () if seen is None else (seen,)

    def _fastest(self) -> list[Winner]:
        from pytest_ansorbench.kernels import fastest
        from pytest_ansorbench.winners import winners_of

        return fastest(winners_of(self._result))

    def _winners_of(self, case: str) -> list[Winner]:
        return [winner for winner in self._winners if winner.case == case]

    @property
    def _is_recorded(self) -> bool:
        """Whether recorded latencies are the reference."""
        return self.settings.kernels.against is None and not self.settings.kernels.variants

    @property
    def _is_plain_reference(self) -> bool:
        """Whether today's toolchain is the reference."""
        return self.settings.kernels.against is None and bool(self.settings.kernels.variants)

    @property
    def _suite_limit(self) -> float | None:
        return self.settings.suite_limits.get("throughput_ratio")

    def _limits(self, item: pytest.Item) -> KernelLimits:
        """The gate of a test."""
        from pytest_ansorbench.stats.rebuilt_ratios import KernelLimits

        settings = usage(resolve, self.config, keywords_of(item))
        return KernelLimits(settings.limits.get("throughput_ratio"))

    def _close(self) -> None:
        if self._toolchains is not None:
            self._toolchains.close()
            self._toolchains = None


class OneKernelTest:
    """The fixture's value: makes the kernels of one case again for one test."""

    def __init__(self, bench: KernelBench, item: pytest.Item) -> None:
        self._bench = bench
        self._item = item
        self._used = False

    def __call__(self, case: Case | str) -> CaseResult:
        """Make, measure, judge; gives the saved result of the case."""
        from pytest_ansorbench.report import kernel_gate_sentence

        __tracebackhide__ = True
        case = the_case(case, self._used)
        self._used = True
        saved, verdicts = self._bench.run(self._item, case)
        sentences = {
            outcome: [
                kernel_gate_sentence(one, one.gate, verdict.reference)
                for verdict in verdicts
                for one in verdict.kernels
                if one.gate is not None and one.gate.outcome == outcome
            ]
            for outcome in ("broken", "undecided")
        }
        for verdict in verdicts:
            prefix = f"ansor_kernels_{verdict.toolchain}"
            for one in verdict.kernels:
                name = f"{prefix}_{one.kernel}_throughput_ratio"
                self._item.user_properties.append((name, one.ratio.value))
        _pass_on(sentences, strict=self._bench.settings.strict)
        return saved


class _Suite(pytest.Item):
    """Judges all kernels together, after the last case."""

    def __init__(self, *, bench: KernelBench, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._bench = bench

    def runtest(self) -> None:
        """Fail if the gate of all kernels is broken, warn if it is undecided."""
        from pytest_ansorbench.report import suite_gate_sentence

        __tracebackhide__ = True
        verdicts = self._bench.judge(self._bench.every_kernel)
        if not verdicts:
            pytest.fail("no kernel was made, so there is nothing to judge", pytrace=False)
        sentences = {
            outcome: [
                suite_gate_sentence(verdict, verdict.gate)
                for verdict in verdicts
                if verdict.gate is not None and verdict.gate.outcome == outcome
            ]
            for outcome in ("broken", "undecided")
        }
        _pass_on(sentences, strict=self._bench.settings.strict)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """What a report calls it."""
        return self.path, None, _NODE_ID


_NODE_ID: Final = f"ansor-bench::{SUITE}"


def _pass_on(sentences: dict[str, list[Any]], *, strict: bool) -> None:
    """Fail for what is broken, warn of what is undecided."""
    __tracebackhide__ = True
    from pytest_ansorbench.report import Terminal

    lines = {
        outcome: [Terminal().line(sentence) for sentence in some]
        for outcome, some in sentences.items()
    }
    if strict:
        lines["broken"] += lines.pop("undecided")
    if lines["broken"]:
        pytest.fail("\n".join(lines["broken"]), pytrace=False)
    for line in lines.get("undecided", ()):
        warnings.warn(UndecidedWarning(line), stacklevel=3)


def _check_options(settings: Settings) -> None:
    """Refuse what has no meaning where nothing is searched."""
    asked = {
        flag_of("replay"): bool(settings.replay),
        flag_of("resume"): settings.resume is not None,
        flag_of("baseline.compare"): settings.baseline.compare is not None,
        flag_of("files.save"): settings.files.save is not None,
    }
    for flag, is_given in asked.items():
        if is_given:
            raise pytest.UsageError(
                f"bad {flag}: {flag_of('kernels.result')} searches nothing; leave one of the two "
                "out"
            )
