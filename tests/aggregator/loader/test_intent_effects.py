"""Intent effects: a transaction carries all of its records, whatever their size, or none."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aggregator.loader.intent_effects import EffectProducer, LetterRefused
from aggregator.loader.produced import Produced, RecordPlace
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import header_at
from replicator.kafka.client.cluster import Answered, Forbidden, ProducerStateLost
from replicator.kafka.client.fenced_committer import Identity
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.produce import Outcome
from tests.replicator.batches.source_batches import decoded

LETTERS = "sluice.dead.lake"
IDENTITY = Identity("loader", 1, 0)


class Topic(EffectProducer):
    """Producer into a topic that takes batches of a size, if it does, and times if it does.

    Args:
        told_max: limit that the topic tells.
        refuses: returns the code with which a record is refused.
    """

    def __init__(self, *, batch_max=1 << 20, told_max=None, refuses=lambda _: 0):
        self.known: object = None

        async def ask(find, request, codes):
            if told_max is None:
                raise Answered("no right", [Code.TOPIC_AUTHORIZATION_FAILED])
            row = ("max.message.bytes", str(told_max), False, 5, False, [])
            return SimpleNamespace(resources=[(0, "", 2, LETTERS, [row])])

        async def try_refresh():
            pass

        cluster = SimpleNamespace(
            topic=lambda _: self.known,
            watch=lambda _: None,
            ask=ask,
            any_node=None,
            name="east",
            try_refresh=try_refresh,
        )
        super().__init__(cluster, missing_seconds=0.01)
        self.batch_max, self.refuses = batch_max, refuses
        self.adding = None
        self.asked = 0
        self.log, self.sizes, self.added, self.next = [], [], 0, {}

    async def send_batch(self, identity, place, batch):
        header, records = header_at(batch), decoded(batch)
        assert header.is_transactional and header.producer_id == identity.producer_id
        self.asked += 1
        assert self.asked < 1000
        if len(batch) > self.batch_max:
            raise Answered("Produce", [Code.MESSAGE_TOO_LARGE])
        for each in records:
            if code := self.refuses(each):
                raise Answered("Produce", [code])
        if header.base_sequence != self.next.get(place, 0):
            raise ProducerStateLost("Produce", [Code.OUT_OF_ORDER_SEQUENCE_NUMBER])
        self.next[place] = header.base_sequence + header.count
        self.sizes.append(len(batch))
        self.log += records
        return Outcome(Code.NONE, base_offset=len(self.log) - len(records))

    async def add_partitions(self, topic, numbers):
        self.added += 1
        if self.adding is not None:
            await self.adding()

    def commit(self, records, times=1):
        async def play():
            effects = self.effects(self, records)
            for _ in range(times):
                await effects(IDENTITY)

        asyncio.run(play())


def letters(count, *, value=b"v", header=10, partition=0):
    return [
        Produced(
            LETTERS,
            partition,
            None,
            b"%d" % at,
            value,
            (("h", b"h" * header), ("sluice.offset", b"%d" % at)),
            RecordPlace(TopicPartition("t", 0), at),
            1,
        )
        for at in range(count)
    ]


def test_all_letters_are_sent_however_large_their_headers_are():
    """15 000 records with 2 KB of headers were 7 599 letters: a batch of 16 MiB was full, and what
    did not fit was dropped."""
    topic = Topic()
    topic.commit(letters(15_000, header=2048))
    assert [each.key for each in topic.log] == [b"%d" % at for at in range(15_000)]
    assert max(topic.sizes) <= 1 << 20 and len(topic.sizes) > 25


def test_what_has_been_sent_is_not_sent_again_when_its_commit_is_repeated():
    """The broker recognizes the last five batches only, and there may be more of them."""
    topic = Topic()
    topic.commit(letters(5000, header=2048), times=3)
    assert len(topic.log) == 5000 and topic.added == 3


def test_the_next_transaction_goes_on_with_the_sequence():
    topic = Topic()
    topic.commit(letters(3))
    topic.commit([*letters(2), *letters(2, partition=1)])
    assert topic.next == {TopicPartition(LETTERS, 0): 5, TopicPartition(LETTERS, 1): 2}


@pytest.mark.parametrize("told_max", [None, 100_000, 1 << 30])
def test_a_letter_that_is_too_large_is_cut_to_what_the_topic_takes(told_max):
    topic = Topic(batch_max=100_000, told_max=told_max)
    topic.commit([*letters(2), *letters(1, value=b"v" * (17 << 20)), *letters(2)])
    cut = topic.log[2]
    told = dict(cut.headers)
    assert told["sluice.value.bytes"] == b"%d" % (17 << 20)
    assert 3000 < len(cut.value) <= 100_000
    assert len(topic.log) == 5 and not any(
        "sluice.value.bytes" in dict(each.headers) for each in topic.log if each is not cut
    )


@pytest.mark.parametrize(
    ("name", "is_cut"), [("sluice.table", True), ("sluice.reason", True), ("sluice.offset", False)]
)
def test_a_letter_that_its_topic_never_takes_is_refused_once(name, is_cut):
    """It was sent for ever, cut to a limit that its own texts exceed."""
    topic = Topic(batch_max=4096, told_max=4096)
    [whole] = letters(1)
    long = replace(whole, headers=((name, b"r" * 8000),), added=1)
    if is_cut:
        topic.commit([long])
        assert len(topic.log) == 1
        return
    with pytest.raises(LetterRefused):
        topic.commit([long])


def test_letters_that_fit_one_by_one_are_whole_where_the_topic_tells_no_limit():
    topic = Topic(batch_max=100_000, told_max=None)
    topic.commit([*letters(5, value=b"v" * 90_000), *letters(2000)])
    assert [len(each.value) for each in topic.log] == [90_000] * 5 + [1] * 2000
    assert len(topic.sizes) < 20


def test_a_letter_as_large_as_its_topic_takes_is_whole():
    topic = Topic(batch_max=40 << 20, told_max=40 << 20)
    topic.commit(letters(1, value=b"v" * (30 << 20)))
    assert len(topic.log[0].value) == 30 << 20


def test_a_letter_has_no_time_where_the_topic_takes_none_of_now():
    topic = Topic(refuses=lambda it: 0 if it.timestamp == -1 else Code.INVALID_TIMESTAMP)
    topic.commit(letters(3))
    assert [each.timestamp for each in topic.log] == [-1, -1, -1]


@pytest.mark.parametrize("code", [Code.INVALID_RECORD, Code.MESSAGE_TOO_LARGE])
def test_a_letter_that_is_never_taken_is_named_alone(code):
    topic = Topic(refuses=lambda it: code if it.key == b"7" else 0)
    with pytest.raises(LetterRefused, match=f"{LETTERS} refuses its dead letter") as refused:
        topic.commit(letters(20))
    assert refused.value.of == RecordPlace(TopicPartition("t", 0), 7)
    assert code.name in str(refused.value)


async def forbidden():
    raise Forbidden("AddPartitionsToTxn", [Code.TOPIC_AUTHORIZATION_FAILED])


async def unanswered():
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("adding", "why"), [(forbidden, "TOPIC_AUTHORIZATION_FAILED"), (unanswered, "is missing")]
)
def test_letters_whose_topic_is_gone_or_forbidden_are_refused(adding, why):
    """No commit of the loader would ever end."""
    topic = Topic()
    topic.adding = adding
    with pytest.raises(LetterRefused, match=why) as refused:
        topic.commit(letters(3))
    assert refused.value.of.offset == 0


def test_a_topic_that_is_there_is_waited_for():
    topic = Topic()

    async def late():
        if topic.added < 4:
            await unanswered()

    topic.adding = late
    topic.known = topic
    topic.commit(letters(3))
    assert len(topic.log) == 3


def test_an_answer_that_is_no_refusal_ends_the_session():
    topic = Topic(refuses=lambda _: Code.UNKNOWN_SERVER_ERROR)
    with pytest.raises(Answered):
        topic.commit(letters(2))
    assert not topic.log


def test_another_record_that_is_refused_ends_the_session():
    topic = Topic(refuses=lambda _: Code.INVALID_RECORD)
    with pytest.raises(Answered, match="INVALID_RECORD"):
        topic.commit([Produced("sluice.objects.lake", 0, 5, b"k", b"v")])
