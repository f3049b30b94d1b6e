"""Tests of `pytest_ansorbench.cluster`."""
