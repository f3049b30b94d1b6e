"""What `benchmarks/gpu.py` says of what it has measured."""

from __future__ import annotations

import dataclasses
import re

from pytest_ansorbench.storage import Journal
from tests.storage.test_journal import CASE, ROUNDS, SESSION


def test_cases_have_their_labels_in_whatever_order_they_were_run(import_script, tmp_path):
    gpu = import_script("gpu")
    labels = ["softmax", "matmul float32", "matmul float16"]
    with Journal.create(tmp_path, SESSION) as journal:
        for name in (*(gpu.SHAPES[label].id for label in labels), "conv1d"):
            journal.append(dataclasses.replace(CASE, label=name, case=name))
            journal.append(dataclasses.replace(ROUNDS[0], label=name))
    rows = gpu.report(tmp_path).splitlines()[2:]
    assert [re.split("  +", row)[0] for row in rows] == [*labels, "conv1d"]
