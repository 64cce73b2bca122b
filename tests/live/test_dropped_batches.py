"""Batches that a pipeline drops as it ends: none of their records is skipped with a loss behind
them."""

from __future__ import annotations

import asyncio
import random

from confluent_kafka import Producer

from deploy.lab.traffic import Shape
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.carrier.commit_schedule import CommitSchedule
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.ledger.entry import Custody
from tests.live.test_rules import IN_FORCE


def keep_loss(pipeline):
    """Lets a pipeline keep the loss that lies behind the batches it drops."""
    settle = pipeline.settle

    def keeping():
        loss = pipeline.loss_to_park
        settle()
        pipeline.loss_to_park = loss

    pipeline.settle = keeping


class ReleasesLate(ProgressCommitter):
    """Delays the release until the commit schedule has parked, as a slower pipeline does."""

    async def release(self, transactional_id):
        while any(pipeline.loss_to_park for pipeline in self.pipelines.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await super().release(transactional_id)


def parks_at_once(*args, **parts):
    """Parks a record that is too large without waiting for a higher limit."""
    return CommitSchedule(*args, **{**parts, "limit_seconds": 0.0})


@IN_FORCE
def test_a_pipeline_that_ends_names_no_loss_behind_records_that_it_drops(make_stage, in_force):
    """An operator who accepts the loss gives up the named records, and none before them."""
    stage = make_stage()
    end = stage.send(400, Shape(batch_records=20))
    producer = Producer(stage.source.librdkafka_options())
    producer.produce(stage.topic, random.randbytes(30_000), partition=0)
    assert producer.flush(60) == 0

    def end_early(pipeline):
        """Ends the epoch once one batch is sent after the large record was met."""
        take, is_ready = pipeline.take, pipeline.is_ready

        def ending():
            if pipeline.loss_to_park:
                hand.session.ending.set()
            return take()

        def is_ready_unless_ending(window):
            head = pipeline.queue.head
            is_new = head is not None and not head.was_sent
            return is_ready(window) and not (is_new and hand.session.ending.is_set())

        pipeline.take, pipeline.is_ready = ending, is_ready_unless_ending
        if not in_force:
            keep_loss(pipeline)

    limits = {stage.topic: 20_000}
    hand = stage.hand(
        0,
        makers=Makers(progress_committer=ReleasesLate, commit_schedule=parks_at_once),
        adapt=end_early,
        max_message_bytes=limits,
    )
    hand.start()
    assert hand.failure() is None
    if in_force:
        assert stage.entry.custody is Custody.RELEASED
        assert 0 < stage.entry.source_offset < end
        other = stage.hand(1, max_message_bytes=limits).start()
        assert f"[{end}, {end + 1})" in other.reason_of(stage.place)
        other.finish()
        assert stage.entry.source_offset == end
    assert stage.carrying.accept(stage.place).source_offset == end + 1
    stage.send(100)
    stage.to_the_end(2)
    lost = stage.seen().lost
    assert lost == 1 if in_force else lost > 1
