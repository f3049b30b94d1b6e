"""From an address to an executor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.bench.blocks import Block
from pytest_ansorbench.cluster.executor import ClusterExecutor
from pytest_ansorbench.cluster.pool import Pool, identify, requirements
from pytest_ansorbench.cluster.settings import RESOURCE, ClusterAddress, ClusterSettings
from pytest_ansorbench.cluster.work import LiveWork, SiteSettings, packed
from pytest_ansorbench.cluster.workers import check_dask, connected
from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.environment import (
    MisfitError,
    attributes_of,
    check_toolchain,
    device_name,
    resolve_target,
)
from pytest_ansorbench.measure.engine import ElsewhereError, EngineError
from pytest_ansorbench.measure.local.machine import describe_machine

QUIET: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
}
"""Without this, Dask samples stack and event loop of a worker that waits for a measurement."""


def cluster_executor(
    settings: ClusterSettings, site: SiteSettings, root: Path, note: Callable[[str], None]
) -> ClusterExecutor:
    """Connect to a scheduler, or start workers here, and wait for one that fits.

    Modules below `root`, the project's folder, travel with the blocks.
    """
    assert settings.address is not None
    check_toolchain()
    if settings.address.workers:
        site = _shared_out(site, settings.address.workers)
    expected = requirements(describe_machine())
    client, cluster = _connected(settings.address, settings.patience_s)

    def work_of(block: Block, slices_ms: Mapping[str, float]) -> LiveWork:
        try:
            return LiveWork(site, expected, packed(block, root), dict(slices_ms))
        except ValueError as error:
            raise ElsewhereError(str(error)) from None

    pool = Pool(client, partial(identify, site.target), expected)
    return ClusterExecutor(client, pool, work_of, settings.patience_s, note, cluster)


def _connected(address: ClusterAddress, patience_s: float) -> tuple[Any, Any]:
    """A client, and the processes that were started for it, if any were."""
    check_dask()
    if not address.workers:
        return connected(address.scheduler, patience_s), None
    import dask
    from distributed import LocalCluster

    try:
        with dask.config.set(QUIET):
            cluster = LocalCluster(
                n_workers=address.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
                resources={RESOURCE: 1},
            )
    except (OSError, RuntimeError, asyncio.TimeoutError) as error:  # as if one is killed meanwhile
        raise EngineError(
            f"the workers did not start ({type(error).__name__}: {error}); is something killing "
            "them, or is the machine out of memory?"
        ) from None
    try:
        return connected(cluster.scheduler_address, patience_s), cluster
    except BaseException:
        cluster.close()
        raise


def _shared_out(site: SiteSettings, workers: int) -> SiteSettings:
    """The site with cores of its own for each of several workers on this machine.

    Raises:
        MisfitError: The target cannot be measured, not by one worker either, or there are too
            few cores or GPUs for several.
        ToolchainError: There is no CUDA device to complete the target by.
    """
    resolved = resolve_target(site.target)
    if workers == 1:
        return site
    if device_name(resolved) == "cuda":
        problem = f"{workers} workers would share this machine's GPU, expected one worker"
        raise MisfitError("target", site.target, problem)
    attributes = attributes_of(site.target or "llvm")
    usable = site.engine.cores or usable_cores().cpus
    each = len(usable) // workers
    given = attributes.get("num-cores")
    threads = given if isinstance(given, int) else None
    if each < (threads or 1):
        raise MisfitError(
            "target",
            site.target,
            f"{workers} workers share {len(usable)} cores, and a kernel runs on {threads or 1} "
            "threads, the target's num-cores; expected fewer workers, or a smaller num-cores",
        )
    target = site.target
    if threads is None:
        target = json.dumps({**attributes, "num-cores": each})
    cores: dict[str, Sequence[int]] = {
        str(at): usable[at * each : (at + 1) * each] for at in range(workers)
    }
    return replace(site, target=target, cores=cores)
