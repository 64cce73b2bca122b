"""Object forgetting: what a loader may need again is not forgotten, also where an operator has
turned its partition back meanwhile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from aggregator.intents.intent import Intent, encode
from aggregator.loader.object_forgetting import ObjectForgetting
from aggregator.objects.forgotten import Log
from aggregator.objects.told_objects import ToldObjects
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.aggregator.restore.told import told

LOG = Log("east aggregate", "t", 0)


class Groups:
    """Committed offsets of a feed's only partition."""

    name = "east"

    def __init__(self, offset: int) -> None:
        intent = Intent(custody=Custody.HELD, offset=offset, reference=0, transactional_id="id")
        self._commit = OffsetAndMetadata(*encode(intent))

    async def commits(self, group: str, topics: Any) -> dict[TopicPartition, OffsetAndMetadata]:
        return {TopicPartition("t", 0): self._commit}


class Committer:
    """Counts transactions."""

    transactions = 0

    async def write(self, effects: Any) -> None:
        self.transactions += 1


async def forgotten(offset: int) -> tuple[Any, int]:
    """Returns what is forgotten of two objects, and in how many transactions.

    Args:
        offset: committed by then.
    """
    forgetting = ObjectForgetting(
        feed="lake",
        name=SimpleNamespace(),  # type: ignore[arg-type]
        settings=SimpleNamespace(),  # type: ignore[arg-type]
        store=SimpleNamespace(),  # type: ignore[arg-type]
        prefix="",
        topic=None,
        partition=None,
        told_before_ms=0,
        timeout_seconds=5,
    )
    committer: Any = Committer()
    cluster: Any = Groups(offset)
    gone = {LOG: [told(0, 10), told(10, 20)]}
    done = await forgetting.forget(cluster, committer, ToldObjects(), gone)
    return done, committer.transactions


async def test_objects_of_which_none_is_passed_any_more_stay_and_are_not_shown():
    assert await forgotten(offset=0) == ({}, 0)


async def test_objects_that_are_still_passed_are_forgotten():
    assert await forgotten(offset=10) == ({LOG: [told(0, 10)]}, 1)
