"""Batches are sent again only where no broker may append them twice; refused ones are repacked."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from replicator.kafka.client.cluster import ProducerStateLost
from replicator.kafka.client.loss import Loss, NeededLimit
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.refusals import Refusal
from replicator.mirror.carrier.retransmission import REMEMBERED_SECONDS, Retransmission
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from tests.replicator.mirror.carrier.outgoing_batches import PLACE, WRITTEN_MS, outgoing
from tests.replicator.mirror.ledger.held import held

TARGET = "east aggregate"
SOON = WRITTEN_MS / 1000 + 1.0
"""A time at which every broker remembers the batches."""


async def no_park(*_: Any) -> None:
    raise AssertionError("parked")


NO_PARKING = SimpleNamespace(park=no_park)


async def prepare(pipeline: PartitionPipeline, now: float = SOON) -> None:
    await Retransmission(TARGET, NO_PARKING).prepare(pipeline, now)


def refused_pipeline(
    *, in_doubt: int | None = None
) -> tuple[PartitionPipeline, list[SequencedBatch]]:
    """Returns a pipeline with two batches in flight, the first of them refused.

    Args:
        in_doubt: index of a batch that may have landed.
    """
    pipeline = PartitionPipeline(PLACE, held())
    pipeline.add([outgoing((at, 1)) for at in range(2)], 2, 0)
    batches = [pipeline.take(), pipeline.take()]
    batches[0].refusal = Refusal(Code.INVALID_RECORD, (0,), "no key")
    if in_doubt is not None:
        batches[in_doubt].is_in_doubt = True
    return pipeline, batches


@pytest.mark.parametrize("now", [SOON + REMEMBERED_SECONDS, time.time()], ids=["just", "long ago"])
async def test_records_too_old_to_send_again_are_not_blamed_on_a_broker(now):
    pipeline, _ = refused_pipeline(in_doubt=1)
    with pytest.raises(ProducerStateLost) as raised:
        await prepare(pipeline, now)
    assert raised.value.codes == ()
    assert str(raised.value).startswith(f"{TARGET}: Produce ")
    assert "so old" in str(raised.value)
    assert "REQUEST_TIMED_OUT" not in str(raised.value)


async def test_a_batch_in_doubt_that_has_waited_too_long_for_a_leader_is_not_sent_again():
    pipeline, batches = refused_pipeline(in_doubt=0)
    batches[0].refusal = None
    retransmission = Retransmission(TARGET, NO_PARKING)
    await retransmission.prepare(pipeline, SOON)
    retransmission.check(pipeline, SOON)
    with pytest.raises(ProducerStateLost, match="so old"):
        retransmission.check(pipeline, SOON + REMEMBERED_SECONDS)
    pipeline.take()
    # The one behind it never landed.
    retransmission.check(pipeline, SOON + REMEMBERED_SECONDS)


@pytest.mark.parametrize("in_doubt", [0, 1])
async def test_a_refused_batch_is_left_as_it_is_where_it_or_a_later_one_may_have_landed(in_doubt):
    """The last attempt is refused; an earlier one may have landed before the config was changed."""
    pipeline, _ = refused_pipeline(in_doubt=in_doubt)
    with pytest.raises(ProducerStateLost, match="may have landed"):
        await prepare(pipeline)


async def test_a_record_refused_for_its_size_needs_a_higher_limit_than_the_topic_showed():
    pipeline, batches = refused_pipeline()
    batches[0].refusal = Refusal(Code.MESSAGE_TOO_LARGE)
    parked: list[Loss] = []

    async def park(_: PartitionPipeline, loss: Loss) -> None:
        parked.append(loss)

    parking, limits = SimpleNamespace(park=park), {PLACE.topic: 9000}
    await Retransmission(TARGET, parking, limits).prepare(pipeline, SOON)
    (loss,) = parked
    assert str(loss).startswith("target refuses the records: source offsets [0, 2): MESSAGE_TOO")
    assert loss.needs == NeededLimit(batches[0].size_bytes, 9000)
    assert loss.needs.least_bytes == 9001
    assert NeededLimit(9500, 9000).least_bytes == 9500


async def test_a_refusal_behind_a_batch_that_is_sent_again_is_dropped():
    pipeline, (first, second) = refused_pipeline()
    first.refusal, second.refusal = None, first.refusal
    await prepare(pipeline)
    assert [batch.refusal for batch in pipeline.queue.queued()] == [None, None]
    assert list(pipeline.queue.queued()) == [first, second]


async def test_a_batch_of_refused_records_only_is_joined_with_the_batch_behind_it():
    pipeline, _ = refused_pipeline()
    await prepare(pipeline)
    assert [batch.outgoing.spans for batch in pipeline.queue.queued()] == [((0, 2),)]
