"""Tests; a package, so that they can share the builders in `synthetic`."""
