"""Each kind of decision: its choices, their features, and what is near."""

from __future__ import annotations

import pytest

from pytest_ansorbench.strategies.decisions.knobs import (
    LocationKnob,
    TileKnob,
    ValueKnob,
    factorizations,
    locations,
)

KNOBS = {
    "tile": TileKnob(factorizations(24, 3, 8)),
    "one tile": TileKnob(factorizations(7, 1, 64)),
    "value": ValueKnob([0, 16, 64, 512]),
    "location": LocationKnob(locations([3, 0, -2])),
    "nowhere": LocationKnob(locations([])),
}
KNOBS |= {f"some of {name}": knob.some(range(0, knob.size, 2)) for name, knob in KNOBS.items()}


@pytest.mark.parametrize("name", KNOBS)
def test_choices_are_decisions_of_tvms_and_back(name):
    knob = KNOBS[name]
    assert knob.size >= 1
    assert knob.table().shape == (knob.size, len(knob.columns))
    for choice in range(knob.size):
        assert knob.choice_of(knob.decision(choice)) == choice
        assert choice not in knob.near(choice)
        assert all(choice in knob.near(other) for other in knob.near(choice))


def test_tiles_are_told_by_sizes_and_by_products_from_the_inside():
    knob = TileKnob(factorizations(24, 3, 8))
    choice = knob.choice_of([3, 4, 2])
    assert knob.columns == ["size0", "size1", "size2", "inner1"]
    assert list(knob.table()[choice]) == pytest.approx([1.585, 2.0, 1.0, 3.0], abs=1e-3)


def test_too_large_an_innermost_tile_is_no_choice():
    assert TileKnob(factorizations(24, 3, 8)).choice_of([1, 1, 24]) is None
    assert ValueKnob([0, 16]).choice_of(2) is None
    assert LocationKnob(locations([1])).choice_of(-2) is None


def test_values_are_told_by_their_logarithm():
    assert ValueKnob([0, 1, 15]).table()[:, 0].tolist() == [0.0, 1.0, 4.0]


def test_locations_are_those_that_were_seen_all_between_and_the_root():
    knob = LocationKnob(locations([3, 0, -2]))
    assert [knob.decision(choice) for choice in range(knob.size)] == [-2, -1, 0, 1, 2, 3, 4]
    assert [LocationKnob(locations([])).decision(choice) for choice in range(2)] == [-1, 0]


def test_root_and_inlining_are_a_step_away_from_every_loop():
    knob = LocationKnob(locations([4, -2]))
    inlined, root, *loops = range(knob.size)
    assert [knob.decision(choice) for choice in (inlined, root, loops[-1])] == [-2, -1, 5]
    assert knob.near(loops[3]) == [inlined, root, loops[2], loops[4]]
    assert knob.near(inlined) == [root, *loops]


@pytest.mark.parametrize("name", ["tile", "value", "location"])
def test_some_choices_are_the_same_decisions_and_as_near(name):
    knob, chosen = KNOBS[name], [0, 1, 3]
    some = knob.some(chosen)
    assert [some.decision(at) for at in range(3)] == [knob.decision(one) for one in chosen]
    assert some.table().tolist() == knob.table()[chosen].tolist()
    assert some.choice_of(knob.decision(2)) is None
    if name != "location":  # of which the next one there is near
        for at, one in enumerate(chosen):
            assert [chosen[other] for other in some.near(at)] == [
                other for other in knob.near(one) if other in chosen
            ]
