"""Tests of `pytest_ansorbench.report.render`."""
