"""Letters of a commit that was lost are found in their topic, and no others."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace

import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.sent_letters import SentLetters
from balancer.topic_partition import TopicPartition
from replicator.batches import batch
from replicator.kafka.client.cluster import Answered, Forbidden
from replicator.kafka.client.custody import Custody
from replicator.kafka.protocol.error_codes import Code
from tests.replicator.batches.source_batches import Record, control, encoded

PLACE, LETTERS = TopicPartition("orders", 2), TopicPartition("sluice.dead.lake", 2)
ABORT, COMMIT = 0, 1


def intent(letters_at=0, **more):
    fields = {"tables": {"b": TableRange(10, 60, 50, "", 1)}, **more}
    return Intent(
        custody=Custody.HELD,
        offset=10,
        reference=10,
        transactional_id="loader",
        letters_at=letters_at,
        **fields,
    )


def letters(at, *offsets, producer_id=7, table="a", **told):
    """Returns a batch of letters from an offset of their topic on."""
    fields = {"cluster": "east", "topic": PLACE.topic, "partition": PLACE.partition, **told}
    records = [
        Record(
            at + index,
            1,
            b"k",
            b"v",
            (
                # The record may be a letter itself.
                ("sluice.offset", b"9999"),
                *((f"sluice.{name}", str(it).encode()) for name, it in fields.items()),
                ("sluice.offset", b"%d" % offset),
                ("sluice.table", table.encode()),
            ),
        )
        for index, offset in enumerate(offsets)
    ]
    return encoded(records, producer_id=producer_id, attributes=batch.TRANSACTIONAL)


class Topic:
    """Cluster with one partition of dead letters, which is fetched batch by batch.

    Args:
        begin: of the log.
        error: that the question for its end gets.
    """

    name = "east"

    def __init__(self, *batches, begin=0, error=None, is_there=True):
        self.batches, self.begin, self.error, self.is_there = batches, begin, error, is_there
        self.end = batch.header_at(batches[-1]).next_offset if batches else 0

    def watch(self, topics):
        assert topics == [LETTERS.topic]

    def topic(self, name):
        return SimpleNamespace() if self.is_there else None

    async def refresh(self):
        pass

    async def log_end(self, *place):
        assert place == LETTERS
        if self.error:
            raise self.error
        return self.end

    async def log_start(self, *place):
        return self.begin

    async def fetch(self, topic, partition, offset, size, *, read_committed):
        await asyncio.sleep(0)
        if offset < self.begin:
            raise Answered("Fetch", [Code.OFFSET_OUT_OF_RANGE])
        wanted = (it for it in self.batches if batch.header_at(it).next_offset > offset)
        data = next(wanted, b"")
        return SimpleNamespace(records=memoryview(data if size >= len(data) else data[:size]))


def sight(*batches, of=None, **more):
    wanted = {PLACE: of or intent()}
    return asyncio.run(SentLetters(Topic(*batches, **more)).look(LETTERS, wanted))


def sent(*batches, of=None, **more):
    return {each.offset for each in sight(*batches, of=of, **more).sent[PLACE]}


def test_committed_letters_that_the_intent_does_not_count_are_found():
    assert sent(letters(0, 12, 15), letters(2, 20), control(3, 7, COMMIT)) == {12, 15, 20}


def test_letters_of_aborted_transactions_and_of_those_without_a_marker_are_not_there():
    aborted = letters(0, 12), control(1, 7, ABORT)
    assert sent(*aborted, letters(2, 15), control(3, 7, COMMIT)) == {15}
    assert sent(letters(0, 12), control(1, 7, ABORT), letters(2, 13)) == set()


def test_an_open_transaction_of_another_loader_hides_nothing():
    """Readers of what is committed see nothing behind it, which may last for ever."""
    open_one = letters(0, 12, producer_id=8, topic="others")
    assert sent(open_one, letters(1, 15), control(2, 7, COMMIT)) == {15}


def test_what_the_intent_passes_or_names_has_been_counted():
    found = letters(0, 9, 10), letters(2, 59, 60, table="b"), control(4, 7, COMMIT)
    assert sent(*found) == {10, 60}


@pytest.mark.parametrize("other", [{"topic": "clicks"}, {"partition": 3}, {"incarnation": 5}])
def test_letters_of_other_partitions_and_logs_are_those_of_other_records(other):
    assert sent(letters(0, 12, **other), control(1, 7, COMMIT)) == set()
    assert sent(letters(0, 12, incarnation=5), control(1, 7, COMMIT), of=intent(incarnation=5)) == {
        12
    }


def test_letters_from_before_are_not_looked_at():
    """Records are read again behind an accepted loss, whose letters were counted."""
    assert sent(letters(0, 12, 13), control(2, 7, COMMIT), of=intent(1)) == {13}


def test_what_retention_has_deleted_is_passed():
    found = letters(5, 12), control(6, 7, COMMIT)
    assert sent(*found, begin=5) == {12}


def test_a_partition_that_says_not_where_to_look_learns_where_the_log_ends():
    found = letters(0, 12), control(1, 7, COMMIT)
    unknown = sight(*found, of=intent(None))
    assert (unknown.end, dict(unknown.sent)) == (2, {})
    # The topic was deleted and created again.
    assert dict(sight(*found, of=intent(3)).sent) == {}


def test_a_topic_that_is_missing_or_may_not_be_read_stops_nobody(caplog):
    assert sight(is_there=False) is None and not caplog.records
    with caplog.at_level(logging.WARNING):
        assert sight(error=Forbidden("east", [Code.TOPIC_AUTHORIZATION_FAILED])) is None
    assert "event=letters-not-read east sluice.dead.lake-2" in caplog.text


def test_records_of_something_else_are_passed():
    own = encoded([Record(0, 1, b"k", b"v", (("sluice.offset", b"12"),))], producer_id=7)
    assert sent(own, letters(1, 15), control(2, 7, COMMIT)) == {15}


@pytest.mark.parametrize("long", [{"partition": "9" * 5000}, {"incarnation": "9" * 5000}])
def test_texts_that_anybody_has_written_as_numbers_stop_nobody(long):
    assert sent(letters(0, 12, **long), letters(1, 15), control(2, 7, COMMIT)) >= {15}


def test_letters_that_are_not_read_are_reported_once_though_each_commit_looks_again(caplog):
    sent_letters = SentLetters(Topic(error=Forbidden("east", [Code.TOPIC_AUTHORIZATION_FAILED])))

    async def look():
        for _ in range(3):
            await sent_letters.look(LETTERS, {PLACE: intent()})

    asyncio.run(look())
    assert len(caplog.records) == 1


@pytest.mark.parametrize("code", [Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID])
def test_a_topic_that_is_deleted_while_it_is_read_stops_nobody(code):
    """The session ends otherwise, where the partition of the letter alone has to park."""
    assert sight(error=Answered("east", [code])) is None
    with pytest.raises(Answered):
        sight(error=Answered("east", [Code.INVALID_TXN_STATE]))


def test_a_log_that_is_cut_while_it_is_read_ends_the_search():
    found = letters(0, 12), control(1, 7, COMMIT), letters(2, 15)

    class Cut(Topic):
        async def log_end(self, *place):
            self.end, end = 2, self.end
            self.batches = found[:2]
            return end

    async def look():
        async with asyncio.timeout(5):
            return await SentLetters(Cut(*found)).look(LETTERS, {PLACE: intent()})

    assert {each.offset for each in asyncio.run(look()).sent[PLACE]} == {12}
