"""Tests of the package's bench."""
