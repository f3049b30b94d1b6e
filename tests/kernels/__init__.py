"""Tests of `pytest_ansorbench.kernels`."""
