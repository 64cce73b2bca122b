"""Ticks for tests of the verifier, and their commits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

from aggregator.upsert.tick import Lane, LaneRange, Tick
from aggregator.upsert.tick_codec import encode
from aggregator.verifier.entry_parts import PartGroup
from aggregator.verifier.owners import Owner
from aggregator.verifier.tick_rules import TickRules, sign
from replicator.config.names import PLAN_TOPIC, upsert_group, upsert_id
from replicator.kafka.protocol.commit_record import Commit

ID = upsert_id("flights", "status")


def tick(number: int, *ranges: tuple[int, int], **fields: Any) -> Tick:
    """Returns a tick with a lane for each range."""
    lanes = tuple(lane(each) for each in range(len(ranges)))
    own = {"time_ms": number * 1000, "lanes": lanes, **fields}
    return Tick(1, number, ranges=tuple(LaneRange(*each) for each in ranges), **own)


def lane(partition: int, topic_id: int = 1) -> Lane:
    return Lane("west regional", "departures", UUID(int=topic_id), partition)


@cache
def long_tick(number: int, lanes: int = 400) -> Tick:
    """Returns a tick of several parts: its lanes compress badly."""
    wide = tuple(
        Lane("west regional", f"departures{each}", UUID(int=each * 7919**9), each)
        for each in range(lanes)
    )
    ranges = tuple(LaneRange(number * 10, number * 10 + 10) for _ in wide)
    return Tick(1, number, number * 1000, wide, ranges)


encoded = cache(encode)


def commits(of: Tick, at_ms: int = 1_000, transactional_id: str = ID) -> list[Commit]:
    """Returns the commits of a tick's parts as brokers keep them."""
    return [Commit(*part, at_ms) for part in encoded(of, transactional_id)]


def commit(of: Tick, transactional_id: str = ID) -> Commit:
    """Returns the commit of a tick with all its parts, as the verifier joins them."""
    parts = commits(of, transactional_id=transactional_id)
    return replace(parts[0], metadata="\n".join(each.metadata for each in parts))


def owners(parts: int) -> dict[str, Owner]:
    """Returns the owner of the ticks, by the groups of so many parts."""
    first = upsert_group("flights", "status", 0)
    rules = TickRules(ID)
    return {
        upsert_group("flights", "status", number): Owner(
            "table flights.status", rules, PartGroup(number, first, PLAN_TOPIC, sign)
        )
        for number in range(parts)
    }
