"""Every format of a report, by its name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_ansorbench.report.render.csv import Csv
from pytest_ansorbench.report.render.html import Html
from pytest_ansorbench.report.render.json import Json
from pytest_ansorbench.report.render.latex import Latex
from pytest_ansorbench.report.render.markdown import Markdown
from pytest_ansorbench.report.render.renderer import Renderer
from pytest_ansorbench.report.render.terminal import Terminal

RENDERERS: Final[Mapping[str, Renderer]] = MappingProxyType(
    {
        "terminal": Terminal(),
        "markdown": Markdown(),
        "html": Html(),
        "csv": Csv(),
        "json": Json(),
        "latex": Latex(),
    }
)
"""Every format by its name."""

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"html": ("jinja2", "matplotlib")}
)
"""Modules that a format takes and that the extra `report` brings."""
