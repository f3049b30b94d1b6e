"""The `ansor-bench` command: what it prints and how it exits."""

from __future__ import annotations
