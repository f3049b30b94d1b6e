"""`pytest_ansorbench.tune`: a model in, its faster version out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.bench import Silent
from pytest_ansorbench.budget import BudgetError, Trials
from pytest_ansorbench.environment import MisfitError
from pytest_ansorbench.measure.settings import CachesError
from pytest_ansorbench.options.conflicts import ConflictError
from pytest_ansorbench.options.declarations import (
    TUNING_OPTIONS,
    TUNING_REWRITE,
    TUNING_STRATEGY,
    TUNING_TRIALS,
    Option,
)
from pytest_ansorbench.options.refusals import in_arguments
from pytest_ansorbench.options.values import duration, implementations
from pytest_ansorbench.report.progress import TrialLog
from pytest_ansorbench.report.tuning import before_tuning
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.strategies import Registry, Strategy
from pytest_ansorbench.tuning.compiled import check_linker
from pytest_ansorbench.tuning.settings import settings_of
from pytest_ansorbench.tuning.tuning import Tuning
from pytest_ansorbench.winners import database_of
from pytest_ansorbench.workloads.given import case_of
from pytest_ansorbench.workloads.inputs import GivenInputs
from pytest_ansorbench.workloads.networks.rewrites import Rewrite, rewrite_named
from pytest_ansorbench.workloads.networks.shapes import Shapes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.runtime import Executable, Module
    from tvm.s_tir.meta_schedule.database import Database
    from tvm.target import Target


@dataclass(frozen=True, eq=False)
class Tuned:
    """What `tune` came to.

    Attributes:
        case: Id of the case.
        before_s: Seconds of a call without any schedule; None if that was not measured.
        after_s: Seconds of a call with the schedules; None if none works. Where they are slower
            than `before_s`, the module has none.
        trials: Programs that were measured in the search that found the result, those of earlier
            calls included; that is an earlier search where it found a faster one.
        search_s: Seconds that this search took, those of earlier calls included.
        database: The best schedule of each task, a database of MetaSchedule's in memory.
        module: What TVM compiled. Of a network `relax.VirtualMachine(module, tvm.cpu())` is made of
            it; that of an operator has a function `main`, whose last arguments are the outputs.
        peers_s: Seconds of a call in each library of `against`; None if it does not compute the
            case.
        weights: The last arguments of a network's `main`; none of an operator, or of a network
            whose case does not tell them from its inputs.
    """

    case: str
    before_s: float | None
    after_s: float | None
    trials: int
    search_s: float
    database: Database
    module: Executable | Module
    peers_s: Mapping[str, float | None]
    weights: tuple[NDArray[Any], ...]


@contextmanager
def _in_arguments() -> Iterator[None]:
    """Have errors that are about options name arguments."""
    try:
        yield
    except (BudgetError, CachesError, ConflictError, MisfitError) as error:
        error.args = (in_arguments(error),)
        raise


@_in_arguments()
def tune(
    mod: Any,
    target: Target | Mapping[str, Any] | str | None = None,
    trials: int | str | None = None,
    *,
    time_limit: float | str | None = None,
    strategy: Strategy | str = TUNING_STRATEGY,
    into: str | Path | None = None,
    name: str | None = None,
    shapes: Shapes | None = None,
    inputs: GivenInputs | None = None,
    example_inputs: Sequence[Any] = (),
    rewrite: Rewrite | str | None = TUNING_REWRITE,
    against: str | Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
    **options: object,
) -> Tuned:
    """Search for a faster version of a model or an operator, and compile it.

        tuned = pytest_ansorbench.tune("model.onnx", trials="16/task", into="tuned")

    Args:
        mod: An `IRModule` whose `main` is a Relax function or a `PrimFunc`; a Relax function; a
            `PrimFunc`; a `torch.nn.Module`; a file, `.onnx`, `.pt2` or `.tflite`;
            `module:function`; a case, or the id of a shipped one.
        target: TVM target, an LLVM one; this machine's CPU by default.
        trials: Programs to measure, e.g. 512, or `16/task` for as many a task; as many as
            `time_limit` allows by default, or without one `64/task`.
        time_limit: Seconds of search, or e.g. `10m`, after which no round begins.
        strategy: A `Strategy`, or the name of a shipped or installed one.
        into: Folder to keep everything in, as `ansor-bench tune` does: a call with the same folder
            goes on there. Nothing is kept by default.
        name: What the model is called in errors and reports; its file's or class's name by default.
        shapes: Shapes of a model's inputs, see `workloads.from_onnx`.
        inputs: What a model is called with, see `workloads.from_onnx`.
        example_inputs: Tensors, or one, that a `torch.nn.Module` can be called with; or give
            `shapes`.
        rewrite: What becomes of a model before it is searched: `none`, `channels-last`, `packed`,
            `winograd`, `fast-math`, or a pass over a Relax module; see `workloads.fast_math`.
        against: Libraries to measure in turn with the result, e.g. `onnxruntime,torch`.
        progress: Is told how far it is, a line each, e.g. `print`.
        options: Others of `ansor-bench tune`, e.g. `seed=1`, `cores="0,1"`, `cluster="local:2"`.

    Raises:
        TypeError: There is no such option.
        ValueError: An argument is not accepted, or it is nothing that can be tuned; the message
            says what was expected.
        StrategyError: There is no such strategy.
        EngineError: Nothing can be measured.
        ToolchainError: Something is missing or does not fit.
        StorageError: The folder cannot be written or read.
    """
    if isinstance(strategy, str):
        strategy = Registry.installed().get(strategy)
    values: dict[str, Any] = {"strategies": (strategy.name,)}
    if time_limit is not None:
        values["budget.run_time_s"] = _parsed("time_limit", str(time_limit), duration)
    elif trials is None:
        trials = TUNING_TRIALS
    if trials is not None:
        values["budget.trials"] = _parsed("trials", str(trials), Trials.parse)
    if target is not None:
        values["target"] = _text(target)
    if against:
        values["experiment.reference_kernels"] = _parsed("against", against, implementations)
    for word, value in options.items():
        option = _option(word)
        values[option.field] = _parsed(word, value, option.parse)
    settings = settings_of(values)
    case = case_of(
        mod,
        name=name,
        shapes=shapes,
        inputs=inputs,
        example_inputs=example_inputs,
        rewrite=_parsed("rewrite", rewrite, rewrite_named) if isinstance(rewrite, str) else rewrite,
    )

    def tell(line: str) -> None:
        if progress is not None:
            progress(line)

    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as nowhere:
        folder = Path(nowhere if into is None else into)
        if into is not None:
            check_linker(settings.remote)
        tuning = Tuning([case], strategy, settings, folder, root=Path.cwd(), tell=tell)
        with closing(tuning):
            try:
                result = tuning.search(Silent() if progress is None else TrialLog(progress))
            except ResumeError as error:
                bad = f"bad into {str(folder)!r}: {error}; choose another folder"
                raise ResumeError(bad) from None
            best = tuning.best()
            if into is not None:
                tuning.write_database(best)
            [compiled] = tuning.compiled(result, best)
            if into is not None:
                tuning.write(result, [compiled])
    [of_case] = result.cases
    [run] = of_case.runs
    before = before_tuning(of_case)
    return Tuned(
        case=case.id,
        before_s=before.latency_s if before is not None else None,
        after_s=run.final.latency_s if run.final is not None else None,
        trials=len(run.trials),
        search_s=run.search_s,
        database=database_of((one, tuning.target) for one in best.values()),
        module=compiled.executable,
        peers_s={peer.implementation: peer.final.latency_s for peer in tuning.peers},
        weights=compiled.weights,
    )


def _option(word: str) -> Option:
    known = {option.keyword: option for option in TUNING_OPTIONS if option.field != "target"}
    if word not in known:
        raise TypeError(f"tune() got an unexpected option {word!r}; expected {', '.join(known)}")
    return known[word]


def _parsed(name: str, given: Any, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(given)
    except ValueError as error:
        raise ValueError(f"bad {name} {given!r}: {error}") from None


def _text(target: Target | Mapping[str, Any] | str) -> str:
    """A target as settings have it."""
    if isinstance(target, str):
        return target
    return json.dumps(dict(target)) if isinstance(target, Mapping) else str(target)
