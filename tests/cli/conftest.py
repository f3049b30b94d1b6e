"""What tests of several commands share."""

from __future__ import annotations

import pytest

from tests.recorded import judged_once


@pytest.fixture(scope="module")
def judging_once():
    """Commands of a module share what they read and judge; for modules that rewrite no file."""
    with judged_once():
        yield
