"""Commits are read back: a coordinator may call a transaction complete that is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka.protocol.transaction import AddOffsetsToTxnRequest, EndTxnRequest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import UNKNOWN_TOPIC, Answered, Fenced
from replicator.kafka.client.fenced_committer import (
    SETTLING_ABORTS_MAX,
    FencedCommitter,
    Identity,
    NotCommitted,
)
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.replicator.kafka.client.coordinator import Coordinator, GroupRows

OLD, NEW, NEXT = ("t", 0, 1, "old"), ("t", 0, 2, "new"), ("t", 0, 3, "next")
OTHER = ("t", 1, 7, "other")


def impatient(coordinator: Coordinator) -> FencedCommitter:
    return FencedCommitter(coordinator, "id", shown_seconds=0.01)


def is_old(_: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
    return shown is None or shown.metadata == "old"


async def committed(coordinator: Coordinator, groups: GroupRows) -> list[GroupRows]:
    """Returns the offsets of each transaction that was committed and not aborted."""
    await impatient(coordinator).commit(groups, is_old)
    return [offsets for is_commit, offsets in coordinator.ended if is_commit]


async def test_offsets_that_are_shown_are_committed_once():
    coordinator = Coordinator({"g": [OLD]}, [])
    assert await committed(coordinator, {"g": [NEW]}) == [{"g": [NEW]}]
    assert len(coordinator.ended) == 1


@pytest.mark.parametrize("before", [[OLD], []], ids=["an entry", "nothing"])
async def test_hidden_offsets_are_committed_until_they_are_shown(before):
    coordinator = Coordinator({"g": before}, [{"g"}, {"g"}])
    assert await committed(coordinator, {"g": [NEW]}) == 3 * [{"g": [NEW]}]
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(2, "new")


async def test_only_hidden_offsets_are_committed_again():
    coordinator = Coordinator({"g": [OLD], "h": [OTHER]}, [{"g"}])
    groups: GroupRows = {"g": [NEW], "h": [OTHER]}
    assert await committed(coordinator, groups) == [groups, {"g": [NEW]}]


async def test_effects_stand_in_each_transaction_before_its_end():
    coordinator, seen = Coordinator({"g": [OLD]}, [{"g"}]), []
    committer = impatient(coordinator)

    async def effects(identity: Identity) -> None:
        await committer.add_partitions("dead", [3])
        seen.append((identity, [is_commit for is_commit, _ in coordinator.ended]))

    await committer.commit({"g": [NEW]}, is_old, effects)
    # The transaction between them confirms the coordinator, and is aborted.
    assert seen == [(("id", -1, -1), []), (("id", -1, -1), [True, False])]
    assert [is_commit for is_commit, _ in coordinator.ended] == [True, False, True]


async def test_offsets_whose_effects_fail_are_never_shown():
    coordinator = Coordinator({"g": [OLD]}, [])
    committer = impatient(coordinator)

    async def effects(_: Identity) -> None:
        raise Answered("Produce", [Code.MESSAGE_TOO_LARGE])

    with pytest.raises(Answered):
        await committer.commit({"g": [NEW]}, is_old, effects)
    await committer.commit({"h": [OTHER]}, is_old)
    assert [is_commit for is_commit, _ in coordinator.ended] == [False, False, True]
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(1, "old")


async def test_offsets_of_the_next_committer_are_not_overwritten():
    coordinator = Coordinator({"g": [OLD], "h": []}, [{"h"}], {"g": [NEXT]})
    assert await committed(coordinator, {"g": [NEW], "h": [OTHER]}) == [
        {"g": [NEW], "h": [OTHER]},
        {"h": [OTHER]},
    ]
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(3, "next")
    assert coordinator.shown["h", "t", 1] == OffsetAndMetadata(7, "other")


async def test_a_marker_that_was_only_late_is_not_followed_by_a_second_commit():
    """The marker takes effect between the read that missed it and the confirmation."""

    class Late(Coordinator):
        async def ask_coordinator(self, kind: int, key: str, request: Any, *_: Any, **more: Any):
            if self.ended and type(request).__name__ == "AddOffsetsToTxnRequest":
                self._show({"g": [NEXT]})
            return await super().ask_coordinator(kind, key, request, *_, **more)

    coordinator = Late({"g": [OLD]}, [{"g"}])
    assert await committed(coordinator, {"g": [NEW]}) == [{"g": [NEW]}]
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(3, "next")


class WithoutTopic(Coordinator):
    """A coordinator that no longer knows a topic, once so many transactions have ended."""

    def __init__(self, ended: int, left_out: list[set[str]]):
        super().__init__({"g": [OLD], "h": []}, left_out)
        self._known_for = ended

    async def ask_coordinator(self, kind: int, key: str, request: Any, *_: Any, **more: Any):
        asks = type(request).__name__ == "TxnOffsetCommitRequest" and more.get("never")
        if asks and key == "g" and len(self.ended) >= self._known_for:
            raise Answered("TxnOffsetCommit", [UNKNOWN_TOPIC])
        return await super().ask_coordinator(kind, key, request, *_, **more)


async def test_a_missing_topic_commits_nothing_and_the_next_commit_is_complete():
    coordinator = WithoutTopic(0, [])
    committer = impatient(coordinator)
    with pytest.raises(NotCommitted):
        await committer.commit({"h": [OTHER], "g": [NEW]}, is_old)
    await committer.commit({"h": [OTHER]}, is_old)
    assert [is_commit for is_commit, _ in coordinator.ended] == [False, False, True]
    assert coordinator.ended[2][1] == {"h": [OTHER]}


async def test_a_topic_deleted_after_a_part_was_committed_raises_another_error():
    coordinator = WithoutTopic(1, [{"g"}])
    with pytest.raises(Answered) as found:
        await impatient(coordinator).commit({"h": [OTHER], "g": [NEW]}, is_old)
    assert not isinstance(found.value, NotCommitted)
    assert coordinator.shown["h", "t", 1] == OffsetAndMetadata(7, "other")


async def test_a_later_commit_of_the_same_committer_is_not_taken_for_the_earlier_offsets():
    """The later commit waits until the one before it is shown."""
    coordinator = Coordinator({"g": [OLD]}, [{"g"}])
    committer = impatient(coordinator)
    later = ("t", 0, 5, "old")
    await asyncio.gather(
        committer.commit({"g": [NEW]}, is_old), committer.commit({"g": [later]}, is_old)
    )
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(5, "old")


class Refusing(Coordinator):
    """Coordinator that refuses the first requests of one kind."""

    def __init__(self, asked: type[Any], refusals: list[Answered]):
        super().__init__({"g": [OLD]}, [])
        self.refusals = refusals
        self._asked = asked

    async def ask_coordinator(
        self, kind: int, key: str, request: Any, *_: Any, **options: object
    ) -> Any:
        if self.refusals and isinstance(request, self._asked):
            raise self.refusals.pop(0)
        return await super().ask_coordinator(kind, key, request)


def unknown() -> Answered:
    return Answered("east: EndTxn", [Code.UNKNOWN_SERVER_ERROR])


async def test_a_commit_that_meets_the_beginning_of_a_fence_is_sent_again():
    coordinator = Refusing(EndTxnRequest, [unknown(), unknown()])
    assert await committed(coordinator, {"g": [NEW]}) == [{"g": [NEW]}]


async def test_the_answer_behind_the_beginning_of_a_fence_is_that_of_the_fence():
    fenced = Fenced("east: EndTxn", [Code.INVALID_PRODUCER_EPOCH])
    coordinator = Refusing(EndTxnRequest, [unknown(), fenced])
    with pytest.raises(Fenced):
        await committed(coordinator, {"g": [NEW]})
    assert not coordinator.refusals


async def test_an_unknown_error_of_the_coordinator_that_stays_is_told():
    coordinator = Refusing(EndTxnRequest, [unknown() for _ in range(9)])
    with pytest.raises(Answered, match="UNKNOWN_SERVER_ERROR"):
        await committed(coordinator, {"g": [NEW]})
    assert coordinator.refusals


async def test_an_unknown_error_of_another_request_is_told_at_once():
    coordinator = Refusing(AddOffsetsToTxnRequest, [unknown()])
    with pytest.raises(Answered, match="UNKNOWN_SERVER_ERROR"):
        await committed(coordinator, {"g": [NEW]})
    assert not coordinator.ended


async def refused(_: Identity) -> None:
    raise Answered("Produce", [Code.MESSAGE_TOO_LARGE])


@pytest.mark.parametrize("left_out", range(4))
async def test_aborted_offsets_whose_markers_are_left_out_are_never_shown(left_out):
    """The marker of the next commit would show them (KAFKA-20734)."""
    coordinator = Coordinator({"g": [OLD]}, [], aborts_left_out=[{"g"}] * left_out)
    committer = impatient(coordinator)
    with pytest.raises(Answered):
        await committer.commit({"g": [NEW]}, is_old, refused)
    await committer.commit({"g": [OTHER]}, is_old)
    assert coordinator.shown["g", "t", 1] == OffsetAndMetadata(7, "other")
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(1, "old")


@pytest.mark.parametrize("left_out", range(3))
async def test_offsets_of_a_former_holder_are_never_shown(left_out):
    """It died amid a transaction, and the fence ended it without its marker."""
    coordinator = Coordinator(
        {"g": [OLD]}, [], aborts_left_out=[{"g"}] * left_out, pending={"g": [NEW]}
    )
    committer = await impatient(coordinator).open()
    await committer.commit({"g": [OTHER]}, is_old)
    assert coordinator.shown["g", "t", 1] == OffsetAndMetadata(7, "other")
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(1, "old")


async def test_a_new_producer_id_settles_nothing():
    coordinator = Coordinator({"g": [OLD]}, [], epoch=0)
    committer = await impatient(coordinator).open()
    await committer.commit({"g": [NEW]}, is_old)
    assert [is_commit for is_commit, _ in coordinator.ended] == [True]


async def test_a_group_is_settled_once():
    coordinator = Coordinator({"g": [OLD], "h": []}, [])
    committer = await impatient(coordinator).open()
    await committer.commit({"g": [NEW]}, is_old)
    await committer.commit({"g": [NEXT], "h": [OTHER]}, is_old)
    await committer.commit({"h": [OTHER], "g": [NEXT]}, is_old)
    ended = [(is_commit, sorted(rows)) for is_commit, rows in coordinator.ended]
    assert ended == [
        (False, ["g"]),
        (True, ["g"]),
        (False, ["h"]),
        (True, ["g", "h"]),
        (True, ["g", "h"]),
    ]


async def test_a_marker_that_another_producer_lacks_for_ever_delays_a_commit_and_no_more():
    coordinator = Coordinator({"g": [OLD]}, [], stuck={"g"})
    committer = await impatient(coordinator).open()
    await committer.commit({"g": [NEW]}, is_old)
    await committer.commit({"g": [NEXT]}, is_old)
    ends = [is_commit for is_commit, _ in coordinator.ended]
    assert ends == [False] * SETTLING_ABORTS_MAX + [True, True]
    assert coordinator.shown["g", "t", 0] == OffsetAndMetadata(3, "next")
