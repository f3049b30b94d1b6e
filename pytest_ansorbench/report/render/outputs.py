"""Where a report goes, and in which format: `markdown`, or `html:report.html`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pytest_ansorbench.report.render.formats import RENDERERS, REQUIRED
from pytest_ansorbench.report.sections import Report


@dataclass(frozen=True, slots=True)
class Output:
    """One rendering of a report."""

    format: str  # a key of `RENDERERS`
    path: Path | None = None  # the file to write; None for standard output

    @classmethod
    def parse(cls, text: str) -> Output:
        """Read `FORMAT` or `FORMAT:PATH`, of which only the first colon counts."""
        name, colon, path = (part.strip() for part in text.partition(":"))
        if name not in RENDERERS or (colon and not path):
            known = ", ".join(RENDERERS)
            raise ValueError(
                f"expected one of {known}, and a file after a colon, e.g. html:pr.html"
            )
        if missing := [module for module in REQUIRED.get(name, ()) if find_spec(module) is None]:
            raise ValueError(
                f"{name} takes {' and '.join(missing)}: pip install 'pytest-ansorbench[report]'"
            )
        return cls(name, Path(path) if path else None)

    @property
    def has_room(self) -> bool:
        """Whether it folds away what is long, so that it can hold what few readers want."""
        return self.format == "html"

    def __str__(self) -> str:
        return self.format if self.path is None else f"{self.format}:{self.path}"


def write_report(report: Report, outputs: Sequence[Output], show: Callable[[str], None]) -> None:
    """Render a report once for each output; folders of files are made."""
    from pytest_ansorbench.storage.files import written

    for output in outputs:
        text = RENDERERS[output.format].render(report)
        if output.path is None:
            show(text)
        else:
            with written(output.path) as stream:
                stream.write(f"{text}\n".encode())
