"""Factorizations are complete, and moves lead from one to another."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies.decisions.knobs import divisors, factorizations, moves, primes

EXTENTS = st.integers(1, 400)


@given(EXTENTS)
def test_divisors_and_primes_are_those_of_the_definition(number):
    assert divisors(number) == tuple(d for d in range(1, number + 1) if number % d == 0)
    assert primes(number) == tuple(
        p for p in divisors(number) if p > 1 and all(p % d for d in range(2, p))
    )


@given(EXTENTS, st.integers(1, 4), st.integers(1, 64))
def test_factorizations_are_all_and_each_once(extent, parts, most_inner):
    found = factorizations(extent, parts, most_inner)
    assert all(math.prod(tiles) == extent and tiles[-1] <= most_inner for tiles in found)
    assert len(set(found)) == len(found) and list(found) == sorted(found)
    if most_inner >= extent:
        # Each prime power is dealt out to the tiles by itself: stars and bars.
        ways = 1
        for prime in primes(extent):
            power = next(k for k in range(20) if extent % prime ** (k + 1))
            ways *= math.comb(power + parts - 1, parts - 1)
        assert len(found) == ways


@given(EXTENTS, st.integers(2, 4), st.integers(2, 64), st.data())
def test_moves_stay_among_the_factorizations_and_lead_back(extent, parts, most_inner, data):
    tiles = data.draw(st.sampled_from(factorizations(extent, parts, most_inner)))
    for moved in moves(tiles):
        if moved[-1] > most_inner:
            continue
        assert moved in factorizations(extent, parts, most_inner)
        assert sum(one != other for one, other in zip(tiles, moved, strict=True)) == 2
        assert tiles in moves(moved)


@pytest.mark.parametrize(("extent", "parts"), [(1, 4), (1, 1)])
def test_a_loop_of_one_has_one_tiling_and_no_move(extent, parts):
    [tiles] = factorizations(extent, parts, 64)
    assert moves(tiles) == []


def test_a_limit_of_minus_one_is_none():
    assert factorizations(48, 3, -1) == factorizations(48, 3, 48)


def test_moves_reach_every_factorization():
    everything = set(factorizations(48, 3, 16))
    reached, edge = set(), {(48, 1, 1)}
    while edge:
        reached |= edge
        edge = {moved for tiles in edge for moved in moves(tiles)} & everything - reached
    assert reached == everything
