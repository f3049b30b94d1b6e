"""Tests of landscapes: chosen, recorded, checked and searched."""
