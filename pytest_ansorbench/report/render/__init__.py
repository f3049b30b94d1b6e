"""Reports as text, in every format there is: a module each, and its entry in `RENDERERS`."""

from pytest_ansorbench.report.render.csv import Csv
from pytest_ansorbench.report.render.formats import RENDERERS, Renderer
from pytest_ansorbench.report.render.html import Html
from pytest_ansorbench.report.render.json import Json
from pytest_ansorbench.report.render.latex import Latex
from pytest_ansorbench.report.render.markdown import Markdown
from pytest_ansorbench.report.render.outputs import Output, write_report
from pytest_ansorbench.report.render.terminal import Terminal

__all__ = [
    "RENDERERS",
    "Csv",
    "Html",
    "Json",
    "Latex",
    "Markdown",
    "Output",
    "Renderer",
    "Terminal",
    "write_report",
]
