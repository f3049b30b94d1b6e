"""Tests of the package's options."""
