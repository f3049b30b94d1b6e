"""The work of a block at a worker: an engine, and the searches."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from pytest_ansorbench.bench.blocks import Block, Watcher
from pytest_ansorbench.bench.site import Site
from pytest_ansorbench.bench.yardsticks import YardstickPlan
from pytest_ansorbench.cluster.courier import UnableError, UnfitError
from pytest_ansorbench.cluster.pool import difference, identify
from pytest_ansorbench.environment import ToolchainError
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.storage import fingerprint
from pytest_ansorbench.storage.entries import Entry
from pytest_ansorbench.travel import project_file
from pytest_ansorbench.workloads.case import case_version


@dataclass(frozen=True)
class SiteSettings:
    """What a worker makes its engine of."""

    target: str | None  # as a session was given it; None for the worker's own CPU
    engine: EngineSettings
    noise_check_s: float  # of a look at how steady the machine is; 0 for none
    yardsticks: YardstickPlan
    cores: Mapping[str, Sequence[int]]
    """By name of the worker, the cores that it has for itself; none where each has a machine."""


@dataclass(frozen=True)
class LiveWork:
    """One repeat, run by searches; the `Work` of a block."""

    site: SiteSettings
    requirements: Mapping[str, str]
    block: bytes  # as `packed` wrote it
    slices_ms: Mapping[str, float]
    """By machine, lengths of slices that suit its noise, as far as it was looked at."""

    def entries(self, watcher: Watcher) -> Generator[Entry, None, None]:
        """Carry it out, with an engine that lives as long as the block does."""
        block = self._unpacked()
        with closing(self._site()) as site:
            yield from site.carry_out(block, watcher)

    def _unpacked(self) -> Block:
        """The block with its tasks, which are made here, as they were where it comes from."""
        import cloudpickle

        found = identify(self.site.target)
        misfit = found.get("error") or difference(self.requirements, found["requirements"])
        if misfit:
            raise UnfitError(misfit)
        try:
            block: Block = cloudpickle.loads(self.block)
            tasks = tuple(block.case.tasks())
        except Exception as error:  # whatever a module raises that is not there, or is another
            raise UnableError(
                f"the case or a strategy cannot be made there: {type(error).__name__}: {error}"
            ) from None
        version = case_version(block.case, tasks)
        if version != block.version:
            raise UnableError(f"it is version {version} there and not {block.version}")
        return replace(block, tasks=tasks)

    def _site(self) -> Site:
        from distributed import get_worker

        from pytest_ansorbench.measure.local.engine import local_engine

        worker = get_worker()
        settings, own = self.site.engine, self.site.cores.get(str(worker.name))
        if own is not None:
            settings = replace(settings, cores=tuple(own))
        try:
            engine = local_engine(self.site.target, settings)
        except ToolchainError as error:
            raise UnfitError(str(error)) from None
        return Site(
            engine,
            storage=Path(worker.local_directory),
            noise_check_s=self.site.noise_check_s,
            slice_ms=self.slices_ms.get(fingerprint(engine.machine)),
            yardsticks=replace(self.site.yardsticks, cores=settings.cores),
        )


def packed(block: Block, root: Path) -> bytes:
    """A block as bytes, without its tasks; a ValueError says why it cannot be sent.

    Classes out of modules below `root`, such as a conftest, go with it as they are. Only what a
    session sends itself is read again, never a file.
    """
    import cloudpickle

    own = _modules_of(root)
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps(replace(block, tasks=()))
    except Exception as error:  # pickle raises many kinds
        raise ValueError(
            f"{block.case.id} or one of its strategies cannot be sent to a worker: "
            f"{type(error).__name__}: {error}"
        ) from None
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
    return data


def _modules_of(root: Path) -> list[ModuleType]:
    """Loaded modules of a project."""
    return [
        module
        for name, module in [*sys.modules.items()]
        if project_file(name, getattr(module, "__file__", None), root) is not None
    ]
