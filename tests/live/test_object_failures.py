"""Records at which a loader into objects fails: one record becomes a dead letter, one partition
parks, and the others flow on."""

from __future__ import annotations

import io
import json

import pyarrow.parquet as pq

from aggregator.files.parquet_file import ParquetFile
from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.loss import LossKind
from tests.aggregator.files.schema_records import ENVELOPE
from tests.live.feed_ground import documents
from tests.live.test_feed_loss_acceptance import accepted
from tests.live.test_object_loading import make_feed, object_server

__all__ = ["make_feed", "object_server"]  # fixtures


def change(number: int) -> bytes:
    """Returns an insert, an update or a delete, as a change of a database is told."""
    before, after = ((None, number), (number, number + 1), (number, None))[number % 3]
    rows = {"before": before, "after": after}
    found = {name: None if it is None else {"id": it} for name, it in rows.items()}
    return json.dumps({**found, "source": {"version": "1"}}).encode()


def test_changes_of_databases_are_rows(make_feed, tmp_path):
    """An optional record that is null, while its type has required fields, ended each session."""
    (tmp_path / "envelope.avsc").write_text(json.dumps(ENVELOPE))
    feed = make_feed(
        partitions=2,
        settings='format = "json"\nschemas = "envelope.avsc"\nobject_age_seconds = 0.3',
    )
    feed.send(TrafficRecord(at % 2, b"key", change(at)) for at in range(300))
    feed.load()
    feed.wait_passed(300)
    rows = [
        row
        for data in feed.objects().values()
        for row in pq.read_table(io.BytesIO(data)).to_pylist()
    ]
    names = ("before", "after", "source")
    found = [json.dumps({name: row[name] for name in names}) for row in rows]
    assert sorted(found) == sorted(json.dumps(json.loads(change(at))) for at in range(300))
    assert not feed.dead_letters()
    feed.assert_told()


def test_a_record_that_its_file_refuses_is_a_dead_letter_and_a_failing_partition_parks(
    make_feed, monkeypatch
):
    feed = make_feed(partitions=3, settings="object_age_seconds = 0.3")
    write = ParquetFile.write_chunk

    def refusing(self, chunk):
        for part in chunk:
            values = part.value_column.to_pylist()
            if b"poison" in values or b"always" in values:
                raise ValueError("a value that no file takes")
        write(self, chunk)

    monkeypatch.setattr(ParquetFile, "write_chunk", refusing)
    scratch = ParquetFile.scratch

    def trusting(self):
        found = scratch(self)
        taken = found.write_chunk

        def unless_always(chunk):
            values = [value for part in chunk for value in part.value_column.to_pylist()]
            if b"always" not in values:
                taken(chunk)

        found.write_chunk = unless_always
        return found

    monkeypatch.setattr(ParquetFile, "scratch", trusting)
    feed.send(documents(150, partitions=3))
    feed.send([TrafficRecord(0, b"key", b"poison"), TrafficRecord(1, b"key", b"always")])
    feed.send(documents(150, partitions=3))
    feed.load()
    assert until(lambda: feed.intents()[1].parked, 60)
    assert until(lambda: (feed.intents()[0].offset, feed.intents()[2].offset) == (101, 100), 60)
    ((value, added),) = feed.dead_letters()
    assert (value, added["sluice.offset"]) == (b"poison", b"50")
    assert b"cannot be written: ValueError: a value that no file takes" in added["sluice.reason"]
    loss = feed.intents()[1].parked
    assert loss.kind is LossKind.LOADER_FAILED and "a value that no file takes" in loss.detail
    (parked,) = accepted(feed, is_accepting=False).parked
    assert (parked.partition.partition, parked.reason) == (1, str(loss))
    feed.assert_told()
    # The loader is mended.
    monkeypatch.setattr(ParquetFile, "write_chunk", write)
    accepted(feed)
    feed.wait_passed(302)
    feed.assert_told()
