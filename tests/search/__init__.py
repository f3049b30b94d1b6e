"""Tests of the package's search."""
