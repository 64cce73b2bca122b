"""Fields that Kafka's messages share: tags, and partitions listed by topic."""

from __future__ import annotations

from typing import Any

from aiokafka.protocol.types import CompactArray, CompactString, TaggedFields

Field = tuple[str, Any]
"""Name and type, as aiokafka's Schema takes them."""

TAGS: Field = ("tags", TaggedFields)
TOPIC: Field = ("topic", CompactString())


def rows(name: str, *fields: Field) -> Field:
    """Returns a field with an array of rows of these fields, in the encoding with tags."""
    return name, CompactArray(*fields, TAGS)


def by_topic(name: str, *partition: Field, topic: Field = TOPIC) -> Field:
    """Returns a field with an array of topics, each with an array of its partitions.

    Args:
        partition: fields of each partition.
        topic: field that names the topic.
    """
    return rows(name, topic, rows("partitions", *partition))
