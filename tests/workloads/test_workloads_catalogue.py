"""The cases that ship: found by id, named well, and all of them used by the suite."""

import re
from pathlib import Path

import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads.suites import ONE_PROGRAM

SUITES = ("LLM", "VISION", "QUANTIZED", "REASONING_COMPILER")
FAMILIES = {
    name: getattr(workloads, name)
    for name in workloads.__all__
    if name.isupper() and name not in ("OPERATORS", "NETWORKS", "CASES", *SUITES)
}
BENCH_CASES = Path(__file__).parents[2] / "bench_cases"
OF_THE_PAPER = {"CONV1D", "CONV2D", "BATCH_MATMUL"}


def test_ids_are_unique():
    ids = [case.id for case in workloads.CASES]
    assert len(ids) == len(set(ids))


def test_ids_are_lower_case_words_joined_by_dashes():
    for case in workloads.CASES:
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", case.id)


def test_operators_are_the_families_together():
    members = [operator for family in FAMILIES.values() for operator in family]
    assert len(members) == len(workloads.OPERATORS)
    assert set(members) == set(workloads.OPERATORS)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_one_class_and_enough_shapes(name):
    assert len({type(operator) for operator in FAMILIES[name]}) == 1
    assert len(FAMILIES[name]) >= (4 if name in OF_THE_PAPER else 2)


@pytest.mark.parametrize(
    "case_id",
    [
        "conv1d-n1-l256-ci64-co128-k3-s2-p1",
        "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1",
        "matmul-b1-m512-n512-k512",
    ],
)
def test_ids_that_saved_results_rely_on(case_id):
    assert workloads.get(case_id).id == case_id


def test_get_finds_every_case():
    assert tuple(workloads.get(case.id) for case in workloads.CASES) == workloads.CASES


def test_an_unknown_id_is_answered_with_close_ones():
    with pytest.raises(workloads.UnknownCase) as caught:
        workloads.get("matmul-b1-m512-n512-k51")
    error = caught.value
    assert isinstance(error, LookupError)
    assert error.close[0] == "matmul-b1-m512-n512-k512"
    assert str(error).startswith(
        "bad case 'matmul-b1-m512-n512-k51': "
        f"expected one of the {len(workloads.CASES)} known ids, "
        "e.g. 'matmul-b1-m512-n512-k512' (close: 'matmul-"
    )


def test_an_id_like_no_other_is_answered_with_an_example():
    with pytest.raises(workloads.UnknownCase) as caught:
        workloads.get("?")
    assert caught.value.close == ()
    example = workloads.OPERATORS[0].id
    assert str(caught.value).endswith(f"known ids, e.g. '{example}'")


def test_the_suite_runs_every_case():
    text = "".join(path.read_text() for path in BENCH_CASES.glob("test_*.py"))
    used = set(re.findall(r'parametrize\("case", workloads\.(\w+)', text))
    assert used == {"OPERATORS", "NETWORKS", *SUITES}
    ids = {case.id for name in used for case in getattr(workloads, name)}
    assert ids == {case.id for case in workloads.CASES} - {case.id for case in ONE_PROGRAM}
