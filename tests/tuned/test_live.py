"""The whole command on this machine: the default strategy, the engine that measures."""

from __future__ import annotations

import pytest


@pytest.mark.usefixtures("lasting_servers")
def test_an_operator_is_tuned(place, capsys):
    assert place.tune("models:product", "--trials", "2") == 0
    assert " ms untuned: " in capsys.readouterr().out
    assert [trial.status for trial in place.trials()] == ["ok", "ok"]
