"""Receipts of an epoch: added up over its sessions, and converted to Arrow."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.config.topology import Route
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.receipts import (
    SCHEMA,
    STATES,
    Receipt,
    from_arrow,
    to_arrow,
)
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.spark.driver_command import Term
from tests.replicator.batches.source_batches import encoded, one_record
from tests.replicator.mirror.ledger.held import held

# -- A receipt book adds up the sessions of one epoch, and has the final state of each partition.

ONE, TWO = TopicPartition("topic", 0), TopicPartition("topic", 1)


def receipt_book() -> ReceiptBook:
    route = Route("west", "east")
    return ReceiptBook(CarrierAssignment(route, 3, (ONE, TWO), Term(1, 0), 7, 0.0))


def pipeline_that_carried(source_offset: int, target_offset: int, count: int) -> PartitionPipeline:
    entry = held(
        source_offset=source_offset,
        target_offset=target_offset,
        transactional_id="sluice.west.east.3",
    )
    pipeline = PartitionPipeline(ONE, entry)
    data = bytearray(encoded([one_record(0)]))
    pipeline.add(
        [OutgoingBatch(data, count, ((source_offset, count),), False)], source_offset + count, 0
    )
    pipeline.acknowledge(pipeline.take(), target_offset)
    return pipeline


def test_a_partition_never_held_has_an_unreleased_receipt_with_nothing_in_it():
    one, two = receipt_book().receipts(5.0)
    assert (one.partition, two.partition) == (0, 1)
    assert (one.records, one.target_begin, one.state) == (0, None, "unreleased")
    assert (one.source_begin, one.source_end) == (None, None)
    assert str(one) == "west>east topic-0 never held unreleased"
    assert (one.route, one.carrier, one.plan_version, one.ended_at) == ("west>east", 3, 7, 5.0)


def test_sessions_of_an_epoch_add_up():
    receipts = receipt_book()
    receipts.note([pipeline_that_carried(10, 100, 5)], {}, {})
    receipts.note([pipeline_that_carried(15, 105, 7)], {}, {})
    receipts.released([ONE])
    receipt = receipts.receipts(0.0)[0]
    assert (receipt.source_begin, receipt.source_end) == (10, 22)
    assert (receipt.target_begin, receipt.target_end) == (100, 112)
    assert (receipt.records, receipt.batches_unopened, receipt.state) == (12, 2, "released")


def test_a_pipeline_noted_twice_is_counted_once():
    receipts, pipeline = receipt_book(), pipeline_that_carried(10, 100, 5)
    receipts.note([pipeline], {}, {})
    receipts.note([pipeline], {}, {})
    assert receipts.receipts(0.0)[0].records == 5


def test_the_receipt_of_a_parked_partition_has_the_reason():
    receipts = receipt_book()
    loss = Loss(LossKind.TARGET_REFUSES, 3, 4)
    receipts.note([], {ONE: loss}, {TWO: "no leader in the target"})
    one, two = receipts.receipts(0.0)
    assert (one.state, one.reason) == ("parked", str(loss))
    assert (two.state, two.reason) == ("unreleased", "no leader in the target")
    receipts.acquired(ONE)
    assert receipts.receipts(0.0)[0].state != "parked"


def test_a_partition_left_while_parked_is_reported_as_parked_by_its_next_carrier_only():
    receipts = receipt_book()
    receipts.parked(ONE, "why")
    receipts.released([TWO])
    receipts.left([ONE, TWO])
    one, two = receipts.receipts(0.0)
    assert (one.state, one.reason) == ("unreleased", "why")
    assert two.state == "released"


@pytest.mark.parametrize("count", [1, 40])
def test_a_receipts_ranges_are_those_of_its_records(count):
    receipts = receipt_book()
    receipts.note([pipeline_that_carried(0, 9, count)], {}, {})
    receipt = receipts.receipts(0.0)[0]
    assert receipt.source_end - receipt.source_begin == count
    assert receipt.target_end - receipt.target_begin == count


def test_a_carrier_that_works_again_neither_waits_nor_has_failed():
    conditions = Conditions("carrier 3 of west>east")
    receipts = ReceiptBook(
        CarrierAssignment(Route("west", "east"), 3, (ONE,), Term(1, 0), 7, 0.0), conditions
    )
    receipts.note_waits("east does not answer")
    conditions.replace(Kind.CARRIER_FAILED, {Subject("west>east"): "unexpected ValueError: x"})
    assert {each.kind for each in conditions.current} == {"carrier-waits", "carrier-failed"}
    assert next(it.carrier for it in conditions.current if it.kind == "carrier-waits") == 3
    receipts.note_works()
    assert conditions.current == ()


# -- Receipts survive the conversion to Arrow and match Spark's schema.

offsets = st.integers(0, 2**63 - 1)
times = st.integers(0, 2**32).map(lambda halves: halves / 2)
receipts = st.builds(
    Receipt,
    route=st.just("west>east"),
    topic=st.text(min_size=1),
    partition=st.integers(0, 2**31 - 1),
    carrier=st.integers(0, 100),
    plan_version=offsets,
    source_begin=st.none() | offsets,
    source_end=st.none() | offsets,
    target_begin=st.none() | offsets,
    target_end=st.none() | offsets,
    records=offsets,
    bytes=offsets,
    batches_unopened=offsets,
    batches_opened=offsets,
    state=st.sampled_from(STATES),
    reason=st.text(),
    began_at=times,
    ended_at=times,
)


@settings(deadline=None)
@given(st.lists(receipts, max_size=5))
def test_receipts_come_back_from_arrow_as_they_went_in(some):
    assert from_arrow(to_arrow(some)) == some


def test_every_field_has_its_column_in_arrow():
    assert SCHEMA.names == [field.name for field in fields(Receipt)]
