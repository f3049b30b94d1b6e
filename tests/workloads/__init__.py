"""Tests of the package's workloads."""
