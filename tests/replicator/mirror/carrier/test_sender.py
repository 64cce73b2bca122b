"""Errors of a sender that gives up its producer; only a broker's answer is reported as one.

The sending itself is tested in tests/live.
"""

import asyncio
from typing import Any

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster, ProducerStateLost
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.carrier.partition_pipeline import InFlightBatch, PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.refusals import Refusal
from replicator.mirror.carrier.sender import Sender
from tests.replicator.mirror.carrier.test_partition_pipeline import parcel
from tests.replicator.mirror.carrier.test_receipt_book import ONE, lane_that_carried
from tests.replicator.mirror.ledger.held import held


async def nothing(*_: Any) -> bool:
    return True


def a_sender(pipelines: Pipelines) -> Sender:
    nowhere = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
    return Sender(
        1,
        target=Cluster("east aggregate", nowhere),
        pipelines=pipelines,
        producer_id=1,
        window=5,
        timeout_ms=1000,
        prove=nothing,
        uncovered=lambda: None,
        park=nothing,  # type: ignore[arg-type]
        shipped=lambda _: None,
    )


def test_records_too_old_to_send_again_are_not_blamed_on_a_broker(monkeypatch):
    pipeline, pipelines = lane_that_carried(0, 0, 5), Pipelines()
    pipelines[ONE], pipeline.sender = pipeline, 1
    monkeypatch.setattr(type(pipeline), "newest_in_doubt_ms", 0.0)
    with pytest.raises(ProducerStateLost) as raised:
        asyncio.run(a_sender(pipelines)._recover())
    assert raised.value.codes == ()
    assert str(raised.value).startswith("east aggregate: Produce ")
    assert "so old" in str(raised.value)
    assert "REQUEST_TIMED_OUT" not in str(raised.value)


def a_refused_lane(*, in_doubt: int | None = None) -> tuple[PartitionPipeline, list[InFlightBatch]]:
    """Returns a pipeline with two batches in flight, the first of them refused.

    Args:
        in_doubt: index of a batch that may have landed.
    """
    pipeline = PartitionPipeline(ONE, held())
    pipeline.add([parcel((at, 1)) for at in range(2)], 2, 0)
    pipeline.sender = 1
    units = [pipeline.take(), pipeline.take()]
    units[0].refusal = Refusal(Code.INVALID_RECORD, (0,), "no key")
    if in_doubt is not None:
        units[in_doubt].is_in_doubt = True
    return pipeline, units


@pytest.mark.parametrize("in_doubt", [0, 1])
def test_a_refused_batch_is_left_as_it_is_where_it_or_a_later_one_may_have_landed(in_doubt):
    """The last attempt is refused; an earlier one may have landed before the config was changed."""
    pipeline, units = a_refused_lane(in_doubt=in_doubt)
    pipelines = Pipelines()
    pipelines[ONE] = pipeline
    for unit in units:
        # young enough for a broker to remember
        unit.parcel.data[35:43] = (2**60).to_bytes(8, "big")
    with pytest.raises(ProducerStateLost, match="may have landed"):
        asyncio.run(a_sender(pipelines)._recover())


def test_a_refusal_behind_a_batch_that_goes_again_waits_for_its_turn():
    pipeline, (first, second) = a_refused_lane()
    first.refusal, second.refusal = None, first.refusal
    pipelines = Pipelines()
    pipelines[ONE] = pipeline
    asyncio.run(a_sender(pipelines)._recover())
    assert [unit.refusal for unit in pipeline.queued()] == [None, None]
    assert list(pipeline.queued()) == [first, second]


def test_records_that_all_are_refused_are_sent_with_those_behind_them():
    pipeline, _ = a_refused_lane()
    pipelines = Pipelines()
    pipelines[ONE] = pipeline
    asyncio.run(a_sender(pipelines)._recover())
    assert [unit.parcel.spans for unit in pipeline.queued()] == [((0, 2),)]
