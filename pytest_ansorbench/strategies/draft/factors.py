"""All ways to split a loop into tiles, and the moves between them."""

from __future__ import annotations

from functools import cache

# Sizes of a loop's tiles, outermost first; their product is its extent.
Tiles = tuple[int, ...]


@cache
def divisors(number: int) -> tuple[int, ...]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}))


@cache
def primes(number: int) -> tuple[int, ...]:
    """Prime factors in ascending order, each once."""
    return tuple(d for d in divisors(number) if d > 1 and len(divisors(d)) == 2)


@cache
def factorizations(extent: int, parts: int, most_inner: int) -> tuple[Tiles, ...]:
    """All ways to split a loop, in ascending order; none only if a single tile is too large."""
    if parts == 1:
        return ((extent,),) if extent <= most_inner else ()
    return tuple(
        (outer, *rest)
        for outer in divisors(extent)
        for rest in factorizations(extent // outer, parts - 1, most_inner)
    )


def moves(tiles: Tiles, most_inner: int) -> list[Tiles]:
    """All tilings that differ by one prime factor, moved from one tile to another."""
    found = []
    for source, size in enumerate(tiles):
        for prime in primes(size):
            for target in range(len(tiles)):
                if target != source:
                    moved = list(tiles)
                    moved[source] //= prime
                    moved[target] *= prime
                    if moved[-1] <= most_inner:
                        found.append(tuple(moved))
    return found
