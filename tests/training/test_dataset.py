"""Samples on disk: whole, checked, and told apart by their hash."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pytest_ansorbench.training.arrays import BadSamples, digest, save_arrays
from pytest_ansorbench.training.rule_samples import Samples, load_samples
from tests.training.samples import make_samples


def test_samples_are_read_as_they_were_written(tmp_path):
    samples = make_samples()
    save_arrays(samples, tmp_path / "made-up.npz")
    again = load_samples(tmp_path / "made-up.npz")
    assert digest([again]) == digest([samples])
    assert [path.name for path in tmp_path.iterdir()] == ["made-up.npz"]


def test_the_hash_sees_every_field():
    samples = make_samples()
    changed = {
        "case": "other",
        "settings": "other",
        "rules": ("A", "B", "C", "D"),
    }
    for field in dataclasses.fields(Samples):
        value = changed.get(field.name)
        if value is None:
            value = getattr(samples, field.name).copy()
            value.flat[0] += 1
        other = dataclasses.replace(samples, **{field.name: value})
        assert digest([other]) != digest([samples]), field.name


@pytest.mark.parametrize("spoil", ["empty", "cut", "text", "pickle", "other"])
def test_what_is_no_file_of_samples_is_refused(tmp_path, spoil):
    path = tmp_path / "made-up.npz"
    save_arrays(make_samples(), path)
    content = path.read_bytes()
    if spoil == "empty":
        path.write_bytes(b"")
    elif spoil == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif spoil == "text":
        path.write_text("no archive")
    elif spoil == "pickle":
        np.savez(path, **{f.name: np.array([{}]) for f in dataclasses.fields(Samples)})
    else:
        np.savez(path, case="made-up")
    with pytest.raises(BadSamples, match=r"bad samples .*made-up\.npz.*delete the file"):
        load_samples(path)
