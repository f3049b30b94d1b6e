"""How steady machines were, in words: what can be believed of figures that were taken there.

What was seen of a machine's noise is given in order of time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.records import MachineNoise
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.wording import percent_text
from pytest_ansorbench.stats.noise_model import NoiseFigures, noise_figures, noisiest

MATTERS: Final = 0.03
"""A scatter from which on a reader is told without asking."""
_OTHER_SCATTER: Final = 1.5
_OTHER_LEVEL: Final = 0.1
"""By how much the end of a session has to differ from its start to be told, as a logarithm."""
_MUCH_NOISIER: Final = 2.0
"""By what factor two sessions have to differ to be told when they are compared."""


def noise_lines(noise: Sequence[MachineNoise]) -> Lines:
    """Say of each machine that was noisy how noisy it was, at the worse of its moments."""
    sentences = []
    for machine in _machines(noise):
        worst = noisiest(_figures(noise, machine))
        if worst is not None and worst.scatter > MATTERS:
            sentences.append(f"noise: {_on(noise, machine)}{_noisy(worst)}")
    return Lines.of(sentences)


def noise_details(noise: Sequence[MachineNoise]) -> Lines:
    """Say how steady each machine was at each moment, and how long its noise lasts."""
    return Lines.of(
        f"noise at the {one.moment}: {_on(noise, one.machine)}{_noisy(figures)}{_memory(figures)}"
        for one in noise
        if (figures := noise_figures(one.trace)) is not None
    )


def noise_warnings(noise: Sequence[MachineNoise]) -> Lines:
    """Say of each machine whether it was another one at the end than at the start."""
    sentences: list[str] = []
    for machine in _machines(noise):
        start = noisiest(_figures(noise, machine, "start"))
        end = noisiest(_figures(noise, machine, "end"))
        if start is not None and end is not None:
            on = _on(noise, machine)
            sentences += [f"warning: {on}{warning}" for warning in _drift(start, end)]
    return Lines.of(sentences, tone="warning")


def noise_changes(before: Sequence[MachineNoise], after: Sequence[MachineNoise]) -> Lines:
    """Say of each machine that two results share whether it was much noisier, or slower, once."""
    sentences: list[str] = []
    for machine in _machines(after):
        then, now = noisiest(_figures(before, machine)), noisiest(_figures(after, machine))
        if then is not None and now is not None:
            sentences += [f"warning: {_on(after, machine)}{change}" for change in _since(then, now)]
    return Lines.of(sentences, tone="warning")


def _machines(noise: Sequence[MachineNoise]) -> Sequence[str]:
    return tuple(dict.fromkeys(one.machine for one in noise))


def _figures(
    noise: Sequence[MachineNoise], machine: str, moment: str | None = None
) -> Iterator[NoiseFigures]:
    """What was seen of a machine, at one of a session's moments or at any."""
    for one in noise:
        if one.machine == machine and moment in (None, one.moment):
            figures = noise_figures(one.trace)
            if figures is not None:
                yield figures


def _on(noise: Sequence[MachineNoise], machine: str) -> str:
    """The machine's name, where there are several."""
    return f"on {machine}, " if len(_machines(noise)) > 1 else ""


def _noisy(figures: NoiseFigures) -> str:
    return (
        f"a kernel timed for {1e3 * figures.slice_s:.2g} ms scatters by "
        f"{percent_text(figures.scatter, 2)}{_lasting(figures)}; within {figures.seconds:.2g} s "
        f"ratios side by side are good to {percent_text(figures.ratio_error, 1)}, levels to "
        f"{percent_text(figures.level_error, 1)}"
    )


def _lasting(figures: NoiseFigures) -> str:
    if not figures.memory:
        return ""
    if figures.forgotten_s is None:
        return f", a disturbance lasts longer than {figures.told_s:.1g} s"
    return f", a disturbance lasts {figures.forgotten_s:.1g} s"


def _memory(figures: NoiseFigures) -> str:
    left = ", ".join(f"{left:.2f} after {lag_s:.1g} s" for lag_s, left in figures.memory)
    return f"; of it is left {left}" if left else ""


def _drift(start: NoiseFigures, end: NoiseFigures) -> Iterator[str]:
    if _differ(start, end, _OTHER_SCATTER):
        yield (
            "the machine was not as steady all the time: kernels scattered by "
            f"{percent_text(start.scatter, 2)} at the start and by {percent_text(end.scatter, 2)} "
            "at the end"
        )
    slower = end.level_s / start.level_s
    if abs(math.log(slower)) > _OTHER_LEVEL:
        yield (
            "the machine was not as fast all the time: the latency of one kernel changed by "
            f"{slower - 1.0:+.1%} from the start to the end"
        )


def _since(then: NoiseFigures, now: NoiseFigures) -> Iterator[str]:
    if _differ(then, now, _MUCH_NOISIER):
        noisier = "then" if then.scatter > now.scatter else "now"
        yield (
            f"the machine was much noisier {noisier}: kernels scattered by "
            f"{percent_text(then.scatter, 2)} then and by {percent_text(now.scatter, 2)} now"
        )
    slower = now.level_s / then.level_s
    if abs(math.log(slower)) > _OTHER_LEVEL:
        yield (
            "the machine was not as fast both times: the latency of one kernel changed by "
            f"{slower - 1.0:+.1%}"
        )


def _differ(one: NoiseFigures, other: NoiseFigures, factor: float) -> bool:
    """Whether one scatter is more than `factor` times the other, and matters."""
    less, more = sorted((one.scatter, other.scatter))
    return more > MATTERS and more > factor * less
