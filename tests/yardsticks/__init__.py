"""Tests of `pytest_ansorbench.yardsticks`."""
