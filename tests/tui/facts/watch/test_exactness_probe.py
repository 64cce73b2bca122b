"""Facts about the owners of entries, as a judge of a cluster has read them."""

from __future__ import annotations

from uuid import UUID

from aggregator.verifier.cluster_judge import ClusterJudge
from aggregator.verifier.group_commit import GroupCommit
from replicator.config.cluster_name import ClusterName
from replicator.config.names import PLAN_TOPIC
from replicator.kafka.client.progress_expiry import ProgressExpiry
from replicator.kafka.protocol.commit_record import Committed
from replicator.kafka.tail.tail_position import Portion, TailPosition, Version, VersionedRecord
from tests.aggregator.verifier.ticks import commits, long_tick
from tests.aggregator.verifier.ticks import owners as owners_of_ticks
from tui.facts.watch.exactness_probe import owner_facts

WEEK = ProgressExpiry(7 * 86_400.0, is_known=True)


def test_a_tick_in_several_parts_is_one_entry_of_one_owner():
    name, owners = ClusterName.regional("west"), owners_of_ticks(4)
    judge = ClusterJudge(name, owners, skew_ms=10)
    position = TailPosition("id", 0)
    judge.begin({0: position})
    told = tuple(
        VersionedRecord(
            Version(0, at), GroupCommit(Committed(group, PLAN_TOPIC, 0), part, part.at_ms)
        )
        for at, (group, part) in enumerate(zip(owners, commits(long_tick(1)), strict=False))
    )
    assert len(told) > 1
    end = position._replace(offset=len(told))
    assert not [*judge.take(0, Portion(position, end, told))]
    (facts,) = owner_facts(name, owners, judge, WEEK, {PLAN_TOPIC: UUID(int=1)})
    assert facts.owner == "table flights.status" and not facts.is_feed
    (entry,) = facts.entries
    assert (entry.topic, entry.committed_ms, entry.topic_id) == (PLAN_TOPIC, 1_000, None)
