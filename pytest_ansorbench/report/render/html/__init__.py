"""A report as one HTML file that needs no network."""

from pytest_ansorbench.report.render.html.page import Html

__all__ = ["Html"]
