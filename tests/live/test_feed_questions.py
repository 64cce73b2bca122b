"""Questions about feeds to real servers: the console shows what `sluice aggregate status` shows."""

from __future__ import annotations

import time
from dataclasses import replace

from deploy.lab.wait import until
from replicator.notices.condition import Condition
from replicator.notices.notice_store import NoticeStore
from tests.live.feed_ground import CLUSTER, FeedGround, documents
from tests.live.test_feed_look import commit, ground, status_of  # noqa: F401
from tui.facts.feed_status import FeedPartitionView, FeedView
from tui.facts.watch.admins import Admins
from tui.facts.watch.audit_questions import audit_questions
from tui.facts.watch.balance_questions import balance_questions
from tui.facts.watch.feed_questions import feed_questions, feeds_of
from tui.facts.watch.look import look
from tui.facts.watch.notice_questions import notice_questions

# ruff: noqa: F811

TIMEOUT_SECONDS = 10.0


def shown(ground: FeedGround) -> FeedView:
    """Returns the feed as a snapshot has it."""
    appliance = ground.appliance
    questions = [
        *feed_questions(Admins(appliance, TIMEOUT_SECONDS)),
        *balance_questions(Admins(appliance, TIMEOUT_SECONDS)),
        *notice_questions(appliance, appliance.regions, TIMEOUT_SECONDS),
        *audit_questions(appliance, TIMEOUT_SECONDS),
    ]
    answers = look(questions, TIMEOUT_SECONDS)
    (found,) = [
        each for each in feeds_of(appliance, answers, time.time()) if each.feed == ground.feed
    ]
    return found


def steady(partition: FeedPartitionView) -> tuple[object, ...]:
    """Returns what does not change between two looks at a feed that is loaded."""
    names = ("cluster", "topic", "partition", "committed", "end", "lag_records", "mode", "loader")
    return tuple(getattr(partition, name) for name in (*names, "custody", "shard"))


def test_a_feed_is_shown_as_its_status_is(ground):
    ground.send(documents(6, partitions=2))
    ground.load()
    ground.wait_count(6)

    def is_settled() -> bool:
        mine = [each for each in status_of(ground).partitions if each.topic == ground.topic]
        return all(each.lag_records == 0 and each.mode == "consume" for each in mine)

    assert until(is_settled, 30.0)
    mine, told = shown(ground), status_of(ground)
    assert (mine.problems, mine.unknown_clusters, mine.findings) == ((), (), ())
    assert [steady(each) for each in mine.partitions] == [steady(it) for it in told.partitions]
    (ours,), (theirs,) = mine.shards, told.shards
    assert [each.table for each in ours.tables or ()] == [it.table for it in theirs.tables or ()]


def test_a_condition_of_a_feed_is_shown_by_both(ground, redis):
    region = ground.appliance.feed(ground.feed).region
    waits = Condition(
        kind="waiting",
        who=f"loader 0 of {ground.feed} in {CLUSTER}",
        text="no intent yet",
        since_ms=1,
        feed=ground.feed,
        cluster=CLUSTER,
        topic=ground.topic,
        partition=0,
    )
    other = replace(waits, feed="another")
    with NoticeStore(redis.url, region) as store:
        store.write(conditions={waits.who: [waits], "another": [other]})
    assert waits in (status_of(ground).conditions or ())
    assert other not in (status_of(ground).conditions or ())
    assert shown(ground).conditions == status_of(ground).conditions
