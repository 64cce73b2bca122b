"""Partition of a topic, the key by which all of Sluice names one."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """Partition of a topic; its number is the same in the source and the target of a route."""

    topic: str
    partition: int
