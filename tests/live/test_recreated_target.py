"""A target topic that is recreated while its tail is read: other topics are not affected."""

from __future__ import annotations

import uuid

from balancer.topic_partition import TopicPartition
from tests.live.hand import Gate
from tests.live.stage import SELDOM, make_on_both


def test_a_topic_recreated_under_a_taker_is_parked_and_the_others_are_taken(make_stage):
    stage = make_stage()
    other = TopicPartition(f"beside-{uuid.uuid4().hex[:12]}", 0)
    make_on_both(stage.source, stage.target, other.topic)
    stage.carrying.adopt(other.topic)
    old = stage.hand(0, **SELDOM).start()
    old.until(lambda: other in old.pipelines)
    old.until_landed(stage.place, stage.send(1000))
    old.kill()
    taker = stage.hand(1, **SELDOM)
    gate = Gate(taker.target, "Fetch")
    taker.start()
    gate.wait()
    stage.recreate()
    gate.open()
    taker.until(lambda: other in taker.pipelines)
    assert "the ledger entry is gone" in taker.reason_of(stage.place)
