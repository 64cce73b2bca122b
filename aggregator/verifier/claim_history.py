"""Claim history: the claims of an upsert table, against each other and against the tick. Pure.

A tick is committed, then claimed, and only then the next one is committed. So a server that has all
parts of the table has the claims of all ticks before the committed one, and none behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from aggregator.upsert.tick import Tick


class Claim(NamedTuple):
    """Claim as a server has it.

    Args:
        ends: first offset of each lane that the table does not have yet.
        rows, events, expired, letters: rows and ends of the tick, records older than the retention,
            dead letters.
    """

    generation: int
    tick: int
    time_ms: int
    ends: tuple[int, ...]
    rows: int
    events: int
    expired: int
    letters: int


@dataclass(slots=True)
class ClaimDifference:
    """Claims that differ, by tick, and the reasons."""

    missing: list[int] = field(default_factory=list)
    surplus: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    maybe_repeated: list[int] = field(default_factory=list)
    """Claims that are there twice in a table without a memory of blocks."""


def unbroken_from(ticks: Collection[int], first: int, horizon: int) -> int:
    """Returns the first tick, from one on, that can be compared, as all claims behind it are there,
    and the one before it, where its ranges begin. Claims before the horizon may be gone.

    Args:
        ticks: that have a claim.
        horizon: that was published.
    """
    begin = max(first, horizon)
    while begin > first and begin - 1 in ticks:
        begin -= 1
    is_cut_off = 1 < begin <= horizon and begin - 1 not in ticks
    return begin + is_cut_off


def compared_claims(
    found: Iterable[Claim],
    first: int,
    tick: Tick,
    newest: int,
    *,
    has_memory: bool,
    horizon: int = 0,
) -> ClaimDifference:
    """Compares the claims of a server with the tick.

    Args:
        found: all rows that the server has of the tick `first` and later ones.
        tick: that was committed before the claims were read.
        newest: number of the tick that was committed after they were read.
        has_memory: the table drops a block that it has.
        horizon: that was published; claims before it may be gone.
    """
    result, own = ClaimDifference(), Counter[Claim]()
    for each in found:
        if each.generation == tick.generation:
            own[each] += 1
        elif each.generation > tick.generation:
            result.surplus.append(each.tick)
            result.texts.append(
                f"tick {each.tick} is claimed in generation {each.generation}, and the table has "
                f"generation {tick.generation}"
            )
    by_tick: dict[int, Claim] = {}
    for claim, count in sorted(own.items()):
        if claim.tick in by_tick:
            result.changed.append(claim.tick)
            result.texts.append(f"tick {claim.tick} has several claims that differ")
        elif count > 1:
            (result.doubled if has_memory else result.maybe_repeated).append(claim.tick)
        by_tick.setdefault(claim.tick, claim)
    for number in [number for number in by_tick if number > newest]:
        del by_tick[number]
        result.surplus.append(number)
        result.texts.append(f"tick {number} is claimed, and the newest committed is {newest}")
    # Claims behind the tick came later, and a server may have some without those before.
    last = tick.number if tick.number in by_tick else tick.number - 1
    kept = range(max(first, horizon), last + 1)
    result.missing += [each for each in kept if each not in by_tick]
    in_order = [by_tick[each] for each in sorted(by_tick)]
    result.texts += _contents(in_order, tick, result.changed)
    return result


def _contents(claims: Sequence[Claim], tick: Tick, changed: list[int]) -> list[str]:
    """Returns what is wrong with claims by themselves, and notes their ticks."""
    found: dict[int, str] = {}
    for before, after in pairwise(claims):
        if after.time_ms < before.time_ms:
            found[after.tick] = f"tick {after.tick} has an earlier time than tick {before.tick}"
        if len(after.ends) < len(before.ends):
            found[after.tick] = f"tick {after.tick} has fewer lanes than tick {before.tick}"
    for each in claims:
        if each.tick == tick.number and (each.ends, each.time_ms) != (tick.ends, tick.time_ms):
            found[each.tick] = f"the claim of tick {each.tick} says other ends or times than it"
    changed += sorted(found)
    return [found[each] for each in sorted(found)]
