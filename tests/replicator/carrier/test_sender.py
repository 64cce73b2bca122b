"""What a sender says when it gives a writer up: only what a broker said is called its answer.

What it sends, and to whom, is in tests/live.
"""

import asyncio
from typing import Any

import pytest

from replicator.carrier.lanes import Lanes
from replicator.carrier.sender import Sender
from replicator.config.topology import KafkaCluster
from replicator.kafka.cluster import Cluster, StartOver
from tests.replicator.carrier.test_receipt_book import ONE, lane_that_carried


async def nothing(*_: Any) -> bool:
    return True


def a_sender(lanes: Lanes) -> Sender:
    nowhere = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
    return Sender(
        1,
        target=Cluster("east aggregate", nowhere),
        lanes=lanes,
        producer_id=1,
        window=5,
        timeout_ms=1000,
        prove=nothing,
        uncovered=lambda: None,
        park=nothing,  # type: ignore[arg-type]
        shipped=lambda _: None,
    )


def test_records_too_old_to_send_again_are_not_blamed_on_a_broker(monkeypatch):
    lane, lanes = lane_that_carried(0, 0, 5), Lanes()
    lanes[ONE], lane.sender = lane, 1
    monkeypatch.setattr(type(lane), "newest_in_doubt_ms", 0.0)
    with pytest.raises(StartOver) as raised:
        asyncio.run(a_sender(lanes)._recover())
    assert raised.value.codes == ()
    assert str(raised.value).startswith("east aggregate: Produce ")
    assert "so old" in str(raised.value)
    assert "REQUEST_TIMED_OUT" not in str(raised.value)
