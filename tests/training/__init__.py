"""Tests of the training of the rule model."""
