"""Names that Sluice gives in Kafka: topics, consumer groups and transactional ids.

Operators and running versions know them, so they never change.
"""

from __future__ import annotations

OWN_PREFIX = "sluice."
"""Topics that begin so are not mirrored; groups that begin so are not moved."""

BALANCE_TOPIC = "sluice.balance"
"""Orders of operators and placements of the balancer. Also the group and client id of readers."""
PLAN_TOPIC = "sluice.plan"
"""Topic of one partition in every aggregate cluster. It has no records: offsets need a topic to be
committed, and driver commands are committed offsets."""
PRIMARY_REGIONS_TOPIC = "sluice.primary-regions"
"""Primary regions of consumer groups. Also the group of its readers."""
TOPIC_CONFIGS_TOPIC = "sluice.topic-configs"
"""Configs that the driver wrote to the mirrored topics of an aggregate. Also the group of its
readers."""
RESTORED_TOPIC = "sluice.restored"
"""Runs of restored topics: where a record of the source topic is in the restored one."""
COMMITS_GROUP = "sluice.commits"
"""Readers of __consumer_offsets."""


def runs_topic_name(route_key: str) -> str:
    """Returns the topic with the runs of a route, such as "west.east"."""
    return f"sluice.runs.{route_key}"


def runs_group(route_key: str) -> str:
    """Returns the group of those who read a runs topic."""
    return f"sluice.{route_key}.runs"


def ledger_group(route_key: str, number: int) -> str:
    """Returns one of the consumer groups whose committed offsets are ledger entries."""
    return f"sluice.{route_key}.{number}"


def witness_group(route_key: str, topic: str) -> str:
    """Returns the group whose committed offset says how many partitions were ever adopted."""
    return f"sluice.{route_key}.witness.{topic}"


def vectors_group(group: str) -> str:
    """Returns the group that keeps the vectors of a group whose commits have metadata of their
    own."""
    return f"{OWN_PREFIX}vectors.{group}"


def carrier_id(route_key: str, number: int) -> str:
    """Returns the transactional id of a carrier."""
    return f"sluice.{route_key}.{number}"


def unheld_id(route_key: str) -> str:
    """Returns the transactional id that entries name which no carrier has held yet."""
    return f"sluice.{route_key}.free"


def handover_id(route_key: str, carrier: int) -> str:
    """Returns the transactional id of entries that wait for one certain carrier.

    Opening an id fences every client that had opened it before. With ids of their own, carriers
    that are handed partitions at the same time do not fence each other.
    """
    return f"sluice.{route_key}.{carrier}.handed"


def operator_id(route_key: str) -> str:
    """Returns the transactional id of `sluice accept-loss`."""
    return f"sluice.{route_key}.operator"


def driver_id(target: str) -> str:
    """Returns the transactional id, and the group, of a region's driver."""
    return f"sluice.{target}.driver"


def balancer_id(region: str) -> str:
    """Returns the transactional id of a region's balancer."""
    return f"sluice.{region}.balancer"


def feed_group(feed: str, number: int) -> str:
    """Returns one of the consumer groups whose committed offsets are the intents of a feed."""
    return f"sluice.feed.{feed}.{number}"


def feed_witness_group(feed: str, topic: str) -> str:
    """Returns the group whose committed offset says how many partitions a feed ever loaded."""
    return f"sluice.feed.{feed}.witness.{topic}"


def loader_id(feed: str, number: int) -> str:
    """Returns the transactional id of a loader, the same in each cluster that it reads."""
    return f"sluice.feed.{feed}.{number}"


def unloaded_id(feed: str) -> str:
    """Returns the transactional id of intents that no loader has held yet."""
    return f"sluice.feed.{feed}.free"


def aggregator_id(region: str) -> str:
    """Returns the transactional id, and the group, of a region's aggregator driver."""
    return f"sluice.{region}.aggregator"


def dead_letter_topic(feed: str) -> str:
    """Returns the topic of the records that a feed could not load."""
    return f"sluice.dead.{feed}"


def adopted_topic(feed: str) -> str:
    """Returns the topic that remembers the partitions that a feed has adopted."""
    return f"sluice.adopted.{feed}"


def restore_id(topic_id: str) -> str:
    """Returns the transactional id, and the group of entries, of a restore into a topic."""
    return f"sluice.restore.{topic_id}"


def forget_id(feed: str) -> str:
    """Returns the transactional id by which objects of a feed are forgotten."""
    return f"sluice.forget.{feed}"


def objects_topic(feed: str) -> str:
    """Returns the topic that tells of the objects of a feed."""
    return f"sluice.objects.{feed}"


def upsert_id(feed: str, table: str) -> str:
    """Returns the transactional id of the ticks of an upsert table."""
    return f"sluice.upsert.{feed}.{table}"


def upsert_group(feed: str, table: str, part: int) -> str:
    """Returns one of the consumer groups whose committed offsets hold the tick of an upsert
    table."""
    return f"sluice.upsert.{feed}.{table}.{part}"
