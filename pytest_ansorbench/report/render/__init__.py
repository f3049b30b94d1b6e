"""Reports as text, in every format there is: a module each, and its entry in `RENDERERS`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pytest_ansorbench.report.render.markdown import Markdown
from pytest_ansorbench.report.render.renderer import Renderer
from pytest_ansorbench.report.render.terminal import Terminal

RENDERERS: Final[Mapping[str, Renderer]] = MappingProxyType(
    {"terminal": Terminal(), "markdown": Markdown()}
)
"""Every format by its name."""

__all__ = ["RENDERERS", "Markdown", "Renderer", "Terminal"]
