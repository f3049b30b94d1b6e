"""What defines a shipped case, and what is no definition of one."""

import json
import sys

import pytest

from pytest_ansorbench.workloads import (
    CASES,
    BatchMatmul,
    Conv2d,
    Mlp,
    Operator,
    ResNet,
    from_onnx,
    from_te,
    get,
)
from pytest_ansorbench.workloads.definition import (
    FAMILIES,
    BadDefinition,
    definition_of,
    made,
    shipped,
)
from tests.workloads.conftest import LAYERS, SMALL, TYPED

OTHER_SHAPES = (*SMALL, *TYPED, *LAYERS, ResNet(depth=18, batch=3, size=64), Mlp(hidden=(7, 9)))


def test_a_case_of_any_shape_comes_back_from_a_file():
    for case in (*CASES, *OTHER_SHAPES):
        definition = json.loads(json.dumps(definition_of(case)))
        assert shipped(case.id, definition) == case
        again = made(definition)
        assert again == case and type(again) is type(case) and again.id == case.id


def test_every_family_is_tried():
    assert {type(case).__name__ for case in OTHER_SHAPES} <= {*FAMILIES}
    assert {type(case) for case in CASES} == {*FAMILIES.values()}
    assert all(issubclass(kind, Operator) or hasattr(kind, "program") for kind in FAMILIES.values())


class Conv2dOfMine(Conv2d):
    """Computes something else, whatever its base does."""


@pytest.mark.parametrize(
    "case",
    [
        Conv2dOfMine.square(7, 4, 4, 3),
        from_te("own", lambda: []),
        from_onnx("model.onnx"),
        type("Conv2d", (), {})(),
    ],
    ids=["subclass", "own", "model", "namesake"],
)
def test_a_case_of_a_users_is_none_of_a_family(case):
    assert definition_of(case) is None


SOFTMAX = {"m": 2, "n": 3}


@pytest.mark.parametrize(
    ("family", "given", "message"),
    [
        ("os.system", {}, "bad family 'os.system': expected one of ArgMax, Attention"),
        (["Softmax"], SOFTMAX, r"bad family \['Softmax'\]"),
        ("Operator", {}, "bad family 'Operator'"),
        ("Softmax", {"m": 2}, "of Softmax: .*missing"),
        ("Softmax", {**SOFTMAX, "k": 1}, "of Softmax: .*unexpected keyword argument 'k'"),
        ("Softmax", {**SOFTMAX, "m": 0}, "of Softmax: bad m 0: expected a positive int"),
        ("Softmax", {**SOFTMAX, "m": 2.0}, "bad fields .* expected numbers and texts by name"),
        ("Softmax", {**SOFTMAX, "m": {"named": {}}}, "expected numbers and texts by name"),
        ("Softmax", {**SOFTMAX, "m": [[2]]}, "expected numbers and texts by name"),
        ("Softmax", [2, 3], "expected numbers and texts by name"),
        ("Mlp", {"hidden": 3}, "of Mlp: "),
        ("ResNet", {"depth": 10**12}, "of ResNet: bad depth"),
    ],
)
def test_what_defines_no_case_is_refused(family, given, message):
    with pytest.raises(BadDefinition, match=message):
        made({"family": family, "fields": given})


KNOWN = get("matmul-b12-m128-n64-k128")
OTHER = BatchMatmul(batch=1, m=5, n=6, k=7)
ELSEWHERE = {"made": {"module": "antigravity", "name": "X", "file": None}, "fields": {}}


@pytest.mark.parametrize(
    ("name", "definition", "expected"),
    [
        (OTHER.id, definition_of(OTHER), OTHER),
        (KNOWN.id, None, KNOWN),
        (OTHER.id, None, None),
        (KNOWN.id, definition_of(OTHER), None),
        (KNOWN.id, {"family": "Conv4d", "fields": {}}, None),
        (OTHER.id, {"family": "BatchMatmul", "fields": {"m": -1}}, None),
        (KNOWN.id, {}, None),
        (KNOWN.id, ELSEWHERE, None),
    ],
    ids=["any shape", "old file", "unlisted", "another", "family", "fields", "none", "module"],
)
def test_a_file_means_shipped_cases_and_no_module_is_imported(name, definition, expected):
    assert shipped(name, definition) == expected
    assert "antigravity" not in sys.modules
