"""Tests of the package's measure."""
