"""Searches in other interpreters."""
