"""An epoch is summed up in one line; each parked partition has a line of its own."""

import logging
from dataclasses import replace

import pyarrow as pa

from replicator.mirror.carrier.receipts import Receipt, to_arrow
from replicator.mirror.driver.daemon import report

RECEIPT = Receipt(
    route="west>east",
    topic="orders",
    partition=3,
    carrier=0,
    plan_version=1,
    source_begin=0,
    source_end=10,
    target_begin=0,
    target_end=10,
    records=10,
    bytes=1000,
    batches_unopened=1,
    batches_opened=0,
    state="released",
    reason="",
    began_at=0.0,
    ended_at=59.5,
)


def test_an_epoch_is_summed_up_and_parked_partitions_are_named(caplog):
    parked = replace(
        RECEIPT, partition=4, plan_version=2, state="parked", reason="it is lost", ended_at=60.0
    )
    with caplog.at_level(logging.INFO):
        report(pa.Table.from_batches([to_arrow([RECEIPT, parked])]), 7)
    assert caplog.messages == [
        "event=epoch-over epoch=7 plan=2 records=20 bytes=2000 unopened=2 opened=0 partitions=2 "
        "released=1 parked=1 seconds=60.0",
        "event=is-parked west>east orders-4 [0, 10) 10 records parked: it is lost",
    ]
