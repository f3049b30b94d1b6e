"""Tests of the package's strategies."""
