"""Tests of `pytest_ansorbench.storage`."""
