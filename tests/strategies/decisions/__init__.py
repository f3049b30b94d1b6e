"""Tests of the search in the space of decisions."""
