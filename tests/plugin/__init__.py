"""Tests of the plugin, by running pytest as a user does."""
