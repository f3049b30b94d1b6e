"""Tests of what `benchmarks` draws."""
