"""Limits of figures, and allowances for how much worse they may get.

Standard library only: options are parsed with it before anything is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.goal import parse_share

_SUITE: Final = "suite_"


class Limits(Mapping[str, float]):
    """The limits that are set, by key of their figure: the worst value that is good enough."""

    def __init__(self, limits: Mapping[str, float] | None = None) -> None:
        given = dict(limits or {})
        for key, limit in given.items():
            if key not in FIGURES or not FIGURES[key].limit_word:
                known = ", ".join(key for key, figure in FIGURES.items() if figure.limit_word)
                raise ValueError(f"bad figure {key!r}: expected one that has limits, {known}")
            is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
            if not is_number or not 1e-6 <= limit <= 1e6:
                raise ValueError(
                    f"bad limit of {key} {limit!r}: expected a ratio from 1e-6 to 1e6, e.g. 0.75"
                )
        self._limits = {key: given[key] for key in FIGURES if key in given}

    def __getitem__(self, key: str) -> float:
        return self._limits[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._limits)

    def __len__(self) -> int:
        return len(self._limits)

    def __hash__(self) -> int:
        return hash(tuple(self._limits.items()))

    def __repr__(self) -> str:
        return f"Limits({self._limits!r})"


@dataclass(frozen=True, slots=True)
class Allowance:
    """By how much a figure may get worse, e.g. `throughput_ratio:3%`."""

    metric: str  # a key of `FIGURES`
    share: float  # the fraction, e.g. 0.05
    of_suite: bool = False  # whether it is about all cases together

    @classmethod
    def parse(cls, text: str) -> Allowance:
        """Parse `METRIC:N%`, or `suite_METRIC:N%` for all cases together."""
        name, _, share = text.strip().partition(":")
        metric = name.removeprefix(_SUITE)
        of_suite = metric != name
        known = [
            key
            for key, figure in FIGURES.items()
            if (figure.over_cases if of_suite else figure.per_case)
        ]
        value = parse_share(share)
        if metric not in known or not 0.0 <= value < 1.0:
            names = ", ".join(_SUITE + key if of_suite else key for key in known)
            raise ValueError(
                f"expected METRIC:N% with N from 0 to below 100 and one of {names}, "
                "e.g. throughput_ratio:3%, or suite_search_ratio:5% for all cases together"
            )
        return cls(metric, value, of_suite)

    def __str__(self) -> str:
        return f"{_SUITE if self.of_suite else ''}{self.metric}:{100.0 * self.share:.12g}%"

    @property
    def limit(self) -> float:
        """The ratio of now over before that is just good enough."""
        return 1.0 + self.share if FIGURES[self.metric].sense == "smaller" else 1.0 - self.share
