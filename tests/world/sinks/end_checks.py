"""Both ends of a feed: every committed record is its rows on every replica, or one dead letter."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from tests.world.sinks.feeding import Feeding
from tests.world.sinks.keeper import Identity
from tests.world.sinks.letter_view import RecordPlace
from tests.world.sinks.step_checks import StepChecks

T = TypeVar("T")


def differences(feeding: Feeding, checks: StepChecks) -> list[str]:
    """Returns a text for each kind of difference."""
    rows: set[Identity] = set()
    dead: set[RecordPlace] = set()
    found = []
    for place in feeding.places:
        end = checks.source.end(place)
        for offset, record in checks.source.between(place, 0, end):
            if record.is_dead:
                dead.add(RecordPlace(*place, offset))
            rows |= {Identity(record.table, *place, offset, row) for row in range(len(record.rows))}
        offset = checks.intents[place][-1].offset
        if offset != end:
            found.append(f"{place}: the intent is at {offset}, the log ends at {end}")
    found += _compared("dead letters", checks.letters.committed, dead)
    for name, server in feeding.servers.items():
        stored = Counter(
            row.identity for parts in server.parts.values() for part in parts for row in part.rows
        )
        found += _compared(f"rows on {name}", stored, rows)
    return found


def _compared(what: str, found: Counter[T], expected: set[T]) -> list[str]:
    missing = sum(each not in found for each in expected)
    twice = [each for each, count in found.items() if count > 1]
    others = [each for each in found if each not in expected]
    if not (missing or twice or others):
        return []
    return [
        f"{what}: {len(expected)} expected, {missing} missing, {len(twice)} twice {twice[:1]}, "
        f"{len(others)} others {others[:1]}"
    ]
