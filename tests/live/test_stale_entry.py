"""Committed offsets restored from a backup, but not the topics: nothing is mirrored twice."""

from __future__ import annotations

import pytest
from aiokafka.protocol.commit import OffsetCommitRequest
from redis import Redis

from replicator.kafka.client.cluster import GROUP
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.ledger.entry import Entry, encode
from replicator.mirror.ledger.ledger import group_of
from replicator.mirror.ledger.takeover import Takeover
from tests.live.stage import Stage


def restore(stage: Stage, entry: Entry) -> None:
    """Restores a former ledger entry and flushes Redis."""
    group, row = group_of(stage.route, stage.place), (stage.place.partition, *encode(entry))
    request = OffsetCommitRequest(group, -1, "", -1, [(stage.topic, [row])])
    cluster = stage.carrying.cluster
    asked = cluster.ask_coordinator(
        GROUP, group, request, lambda r: [code for _, some in r.topics for _, code in some]
    )
    stage.carrying.wait(asked)
    with Redis.from_url(stage.carrying.regions.redis.url) as client:
        client.flushall()


class BelievesTheEntry(Takeover):
    """Mutation: does not read the runs topic."""

    def __init__(self, **collaborators):
        super().__init__(**{**collaborators, "runs": None})


@pytest.mark.parametrize("custody", ["held", "fenced", "released"])
@pytest.mark.parametrize("rule", [pytest.param(Takeover, marks=pytest.mark.core), BelievesTheEntry])
def test_an_entry_older_than_what_was_mirrored_parks_and_is_stepped_over(make_stage, custody, rule):
    stage = make_stage()
    first = stage.hand(0).start()
    end = stage.send(1000)
    first.until_carried(stage.place)
    stage.until(lambda: stage.entry.source_offset == end)
    held = stage.entry
    if custody == "fenced":
        # The marker of the next takeover then ends the tail of this entry, long before the log.
        first.kill()
    else:
        first.finish()
    older = stage.entry if custody == "released" else held
    second = stage.to_the_end(1)
    mirrored = stage.send(500)
    second.until_carried(stage.place)
    second.finish()
    restore(stage, older)

    taker = stage.hand(2, makers=Makers(takeover=rule)).start()
    if rule is BelievesTheEntry:
        taker.until_carried(stage.place)
        assert stage.seen().duplicated == 500
        return
    reason = taker.reason_of(stage.place)
    assert "ledger entry is older than what was mirrored" in reason
    assert f"source offsets [{end}, {mirrored})" in reason
    taker.kill()
    assert stage.carrying.accept(stage.place).source_offset == mirrored
    last = stage.hand(3).start()
    stage.send(100)
    last.until_carried(stage.place)
    last.finish()
    stage.seen().assert_exact()
    assert stage.carrying.assert_exact(redis_may_lack=True) == mirrored + 100
