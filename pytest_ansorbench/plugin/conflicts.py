"""What a session cannot do, found out before an hour of search and not after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_ansorbench.options.conflicts import check_conflicts, check_searches
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.resolve import is_on_command_line
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin import workers
from pytest_ansorbench.plugin.refusals import usage
from pytest_ansorbench.storage import StorageError, check_name, check_output, find_saved


def check_session(config: pytest.Config, settings: Settings) -> None:
    """Refuse what a session cannot do.

    Raises:
        pytest.UsageError: Options contradict each other, or a file cannot be written, or is read.
    """
    _check_processes(config, settings)
    usage(check_conflicts, settings)
    usage(check_searches, settings, _asked_of_searches(config, settings))
    read = [*_read(settings, config.rootpath / settings.files.storage)]
    outputs = [("files.json", settings.files.json)]
    outputs += [("files.report", output.path) for output in settings.files.report]
    for field, path in outputs:
        try:
            if path is not None:
                check_output(flag_of(field), path, read)
        except StorageError as error:
            raise pytest.UsageError(str(error)) from None
    if settings.files.save is not None:
        try:
            check_name(settings.files.save)
        except StorageError as error:
            raise pytest.UsageError(f"bad --ansor-save: {error}") from None


def _asked_of_searches(config: pytest.Config, settings: Settings) -> Sequence[str]:
    """Fields that the command line sets, and that are of no use to kernels; ini files may."""
    fields = ["strategies", *(f"limits.{key}" for key in settings.limits)]
    fields += [f"suite_limits.{key}" for key in settings.suite_limits]
    of_searches = [field for field in fields if not field.endswith(".throughput_ratio")]
    return [field for field in of_searches if is_on_command_line(config, field)]


def _check_processes(config: pytest.Config, settings: Settings) -> None:
    """Refuse test processes beside each other, unless each measures somewhere else."""
    shares = config.getoption("dist", default="no") != "no"
    specs = config.getoption("tx", default=None) if shares else None  # -n sets both
    if settings.replay or not (specs or workers.is_worker(config)):
        return
    flag = "-n" if config.getoption("numprocesses", default=None) else "--tx"
    if specs:
        cluster, beside = settings.cluster.address, _most_on_a_machine(specs) > 1
        if beside and cluster is not None and not cluster.scheduler:
            raise pytest.UsageError(
                f"bad option {flag}: each process would start workers of its own on this machine; "
                "start a scheduler and workers once, and give --ansor-cluster their address"
            )
        if beside and cluster is None and settings.remote.tracker is None:
            raise pytest.UsageError(
                f"bad option {flag}: live searches cannot share a machine with other test "
                f"processes; run pytest --ansor-bench without {flag}, or with -n 0 (--ansor-replay "
                f"takes any {flag}, and so does --ansor-cluster; --ansor-rpc takes as many as the "
                "tracker has devices; --ansor-shard runs a part of the session on each of several "
                "machines)"
            )
        if settings.kernels.result is not None:
            raise pytest.UsageError(
                f"bad option {flag}: kernels are made again by one process; run without {flag}"
            )
        if settings.resume is not None:
            raise pytest.UsageError(
                f"bad option {flag}: each process has a journal of its own; resume them one by "
                f"one, without {flag}"
            )
        if settings.files.learn is not None:
            raise pytest.UsageError(
                f"bad option {flag}: each process has a journal of its own, and a model learns "
                f"from one; learn without {flag}"
            )
    if settings.has_suite_gates:
        raise pytest.UsageError(
            f"bad option {flag}: a gate of the suite is about the runs of all processes; hold the "
            f"result against it with ansor-bench show, or run without {flag}"
        )


def _most_on_a_machine(specs: Sequence[str]) -> int:
    """How many processes a machine has at most, e.g. 3 by `popen` and `2*popen//python=python3`."""
    machines = Counter[str]()
    for spec in specs:
        times, _, rest = spec.partition("*")
        number, where = (int(times), rest) if times.isdecimal() else (1, spec)
        parts = where.split("//")
        machines["popen" if "popen" in parts else parts[0]] += number
    return max(machines.values(), default=0)


def _read(settings: Settings, storage: Path) -> Iterator[Path]:
    """The results that a session reads."""
    yield from settings.replay
    named = (settings.baseline.compare, settings.reference, settings.kernels.result)
    for wanted in (*named, settings.shard_by):
        with suppress(StorageError):  # reading tells of it
            yield from () if wanted is None else find_saved(storage, wanted)
