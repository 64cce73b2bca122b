"""Commits are made only for partitions that are assigned to this consumer."""

from typing import Any

import pytest
from confluent_kafka import KafkaException

from replicator.groups.resume.commits import Commits


class Fetched:
    """Message of a partition that was revoked after the message was handed out."""

    def topic(self) -> str:
        return "flights"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7


def test_a_message_of_another_members_partition_is_not_committed():
    message: Any = Fetched()
    with pytest.raises(KafkaException, match="flights-0 is assigned to another member now"):
        Commits({}, None).behind(message)
