"""Tests of `pytest_ansorbench.stats`."""
