"""Tests of what results keep."""
