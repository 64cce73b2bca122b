"""Servers that are pretended for the bench of the console: answers of 10 000 moving partitions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.protocol.group_list import ListedGroup
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.ledger_reader import Entries
from replicator.mirror.offset_map.reports import PartitionReport, packed, unpacked
from tui.facts.watch.group_lags import GroupLag
from tui.facts.watch.group_questions import StoredGroups, lags_key, members_key, stored_key
from tui.facts.watch.inventory import Inventory, whole_inventory
from tui.facts.watch.live_source import LiveSource
from tui.facts.watch.question import Key
from tui.facts.watch.route_questions import ends_key, ledger_key, reports_key, topics_key
from tui.facts.watch.spotlight import Spotlight

TOPICS, PARTITIONS_OF_TOPIC = 25, 100
"""Numbers for each of four routes: 10 000 partitions in all."""
GROUPS, PARTITIONS_OF_GROUP = 500, 64
REGIONS = ("east", "west")
NAMES = [f"topic-{number:02d}" for number in range(TOPICS)]
PLACES = [TopicPartition(name, n) for name in NAMES for n in range(PARTITIONS_OF_TOPIC)]
CARRIERS = 16
MOMENTS = 4
AHEAD_SECONDS = 3600.0
"""The reports are made once; so they count as fresh for an hour."""
BEGAN = time.time()
RATE = 400
"""Records per second of each partition."""


def pretended_source() -> LiveSource:
    """Returns a live source that asks nobody."""
    tables = {
        name: {
            "redis": f"redis://127.0.0.1:{number}",
            "regional": {"bootstrap": [f"127.0.0.1:{number + 100}"]},
            "aggregate": {"bootstrap": [f"127.0.0.1:{number + 200}"]},
        }
        for number, name in enumerate(REGIONS, 1)
    }
    appliance = Appliance.model_validate({"regions": tables, "replicator": {"state_dir": "/tmp"}})
    return LiveSource(appliance, 5.0, _inventory)


def _inventory(appliance: Appliance, timeout_seconds: float, spotlight: Spotlight) -> Inventory:
    found = whole_inventory(appliance, timeout_seconds, spotlight)
    asks = _asks(appliance)
    questions = tuple(
        replace(each, ask=asks[each.key], cluster=None, needs=(), close=lambda: None)
        for each in found.questions
        if each.key in asks
    )
    return Inventory(questions, found.assembly)


def _asks(appliance: Appliance) -> dict[Key, Callable[..., Any]]:
    """Returns the pretended answers by question; other questions are not asked."""
    configs = Configs({})
    topics = [
        Topic(name, UUID(int=number), PARTITIONS_OF_TOPIC, configs)
        for number, name in enumerate(NAMES, 1)
    ]
    asks: dict[Key, Callable[..., Any]] = {}
    for region in REGIONS:
        asks[topics_key(ClusterName.regional(region))] = lambda: topics
        asks[topics_key(ClusterName.aggregate(region))] = lambda: topics
        asks[ends_key(ClusterName.regional(region))] = lambda: dict.fromkeys(PLACES, _end())
        texts = {route.name: _texts(route.name) for route in appliance.routes_into(region)}
        asks[reports_key(region)] = lambda texts=texts: {
            name: _reports(found) for name, found in texts.items()
        }
        asks[members_key(region)] = lambda: {
            name: ListedGroup(name, "consumer", "Stable") for name in _groups()
        }
        asks[lags_key(region)] = lambda: _lags()
        asks[stored_key(region)] = lambda: _stored()
    for route in appliance.routes:
        entries = Entries(dict.fromkeys(PLACES, _entry()), {}, {})
        asks[ledger_key(route)] = lambda entries=entries: entries
    return asks


def _end() -> int:
    return 1_000_000 + int((time.time() - BEGAN) * RATE)


def _entry() -> Entry:
    return Entry(
        custody=Custody.HELD,
        source_offset=0,
        target_offset=0,
        producer_id=1,
        epoch=0,
        sequence=0,
        transactional_id="sluice.bench",
    )


def _texts(route: str) -> list[list[str]]:
    """Returns what Redis has of a route at some moments: for each, the reports of each carrier."""
    return [
        [
            packed(
                (
                    _report(route, place, n, carrier, moment)
                    for n, place in enumerate(PLACES)
                    if n % CARRIERS == carrier
                ),
                f"host-{carrier % 4}",
                417,
            )
            for carrier in range(CARRIERS)
        ]
        for moment in range(MOMENTS)
    ]


def _report(
    route: str, place: TopicPartition, number: int, carrier: int, moment: int
) -> PartitionReport:
    end = 1_000_000 + 2 * RATE * moment
    lag = (moment + 1) * number % 3000
    return PartitionReport(
        route, place.topic, place.partition, carrier, RATE + (moment + number) % 50, 141_000.0,
        end, end - lag, lag, lag / RATE, None, time.time() + AHEAD_SECONDS,
    )  # fmt: skip


def _reports(texts: list[list[str]]) -> dict[TopicPartition, PartitionReport]:
    """Returns the reports of a moment, unpacked as the console unpacks them."""
    now = texts[int(time.time() / 2) % MOMENTS]
    return {
        TopicPartition(report.topic, report.partition): report
        for text in now
        for report in unpacked(text)
    }


def _groups() -> frozenset[str]:
    return frozenset(f"group-{number:03d}" for number in range(GROUPS))


def _lags() -> dict[str, GroupLag]:
    moving = _end() % 997
    return {
        group: GroupLag(moving * at % 5000, PARTITIONS_OF_GROUP, ("topic-00",))
        for at, group in enumerate(sorted(_groups()))
    }


def _stored() -> StoredGroups:
    now_ms = int(time.time() * 1000)
    return StoredGroups({}, {"west": _groups()}, dict.fromkeys(REGIONS, now_ms))
