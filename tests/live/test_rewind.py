"""Rewinding: the requested records are mirrored again, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import pytest

from balancer.topic_partition import TopicPartition
from deploy.lab.traffic import PLAIN, records, send
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.mirror.repair.rewind import EARLIEST, CannotRewind, PartlyRewound, Rewind
from tests.live.audited import BY, auditor
from tests.live.hand import Gate, Hand, names_topic
from tests.live.stage import make_on_both
from tests.replicator.mirror.offset_map.told_logs import target_of

COUNT = 200


@pytest.fixture
def carrying(regional, aggregate, carry):
    return carry(regional, aggregate)


@pytest.fixture
def topic(regional, aggregate, carrying):
    name = f"rewind-{id(carrying):x}"
    make_on_both(regional, aggregate, name, 2)
    carrying.adopt(name, 2)
    return name


def fill(regional, topic, origin):
    send(regional, topic, records(COUNT, partitions=2, origin=origin), PLAIN)


def asked(
    carrying,
    topic,
    what,
    numbers=(0,),
    to=0,
    hold: Callable[[Cluster], object] = id,
    make: Callable[..., Rewind] = Rewind,
):
    """Runs `look` or `rewind`, as the command does; `hold` receives the target cluster first."""

    async def ask():
        (route,) = carrying.routes.values()
        rewind = make(carrying.appliance, route)
        await rewind.open(topic)
        hold(rewind.target)
        try:
            partitions = await rewind.partitions(topic, numbers)
            return await getattr(rewind, what)(partitions, to)
        finally:
            await rewind.close()

    return asyncio.run(ask())


def size(cluster, topic, number):
    from confluent_kafka import Consumer
    from confluent_kafka import TopicPartition as KafkaTopicPartition

    consumer = Consumer({**cluster.librdkafka_options(), "group.id": "ends"})
    try:
        return consumer.get_watermark_offsets(KafkaTopicPartition(topic, number))[1]
    finally:
        consumer.close()


@pytest.mark.core
def test_records_from_there_on_are_mirrored_once_more_and_what_follows_once(
    carrying, topic, regional, aggregate
):
    fill(regional, topic, "first")
    carrying.carry_all()
    place = TopicPartition(topic, 0)
    position = carrying.entries()[place].source_offset
    before = size(aggregate, topic, 0), size(aggregate, topic, 1)
    (shown,) = asked(carrying, topic, "look", to=position - 30)
    assert (shown.was_at, shown.goes_on_at) == (position, position - 30)
    assert carrying.entries()[place].source_offset == position, "looking changes nothing"
    asked(carrying, topic, "rewind", to=position - 30)
    carrying.carry_all()
    assert (size(aggregate, topic, 0), size(aggregate, topic, 1)) == (before[0] + 30, before[1])
    fill(regional, topic, "second")
    carrying.carry_all()
    assert size(aggregate, topic, 0) == before[0] + 30 + size(regional, topic, 0) - position
    (found, _) = carrying.maps("west")
    (again,) = [it for key, it in found.items() if (key.topic, key.partition) == place]
    assert target_of(again, position - 1) >= before[0], "the map says where it landed last"


def test_all_of_it_again_and_only_of_the_partition_that_was_asked_for(
    carrying, topic, regional, aggregate
):
    fill(regional, topic, "first")
    carrying.carry_all()
    before = size(aggregate, topic, 0), size(aggregate, topic, 1)
    asked(carrying, topic, "rewind", numbers=(1,), to=EARLIEST)
    carrying.carry_all()
    assert (size(aggregate, topic, 0), size(aggregate, topic, 1)) == (before[0], 2 * before[1])


def test_what_is_paused_rewound_and_resumed_within_an_epoch_is_mirrored_once_more(
    carrying, topic, regional, aggregate
):
    fill(regional, topic, "first")
    carrying.begin()
    carrying.until_carried()
    place = TopicPartition(topic, 0)
    before = size(aggregate, topic, 0), size(aggregate, topic, 1)
    carrying.move({("west", place): None})
    carrying.until(lambda: carrying.entries()[place].custody == "released")
    (rewound,) = asked(carrying, topic, "rewind", to=EARLIEST)
    assert size(aggregate, topic, 0) == before[0], "nobody carries it"
    carrying.move({("west", place): 0})
    carrying.until(lambda: size(aggregate, topic, 0) == 2 * before[0])
    carrying.stop()
    assert carrying.entries()[place].source_offset == rewound.was_at
    assert size(aggregate, topic, 1) == before[1]


def test_an_audit_looks_where_records_landed_last_and_by_bytes_says_that_they_are_there_twice(
    carrying, topic, regional, sluice, tmp_path
):
    fill(regional, topic, "first")
    carrying.carry_all()
    asked(
        carrying,
        topic,
        "rewind",
        to=carrying.entries()[TopicPartition(topic, 0)].source_offset - 30,
    )
    carrying.carry_all()
    audit = auditor(sluice, carrying, tmp_path)
    for by in BY:
        _, (rewound, other) = audit(topic, *by)
        is_read = by == ("--by", "bytes")
        assert rewound["verdict"] == ("surplus" if is_read else "equal"), rewound
        assert rewound["missing"] == 0
        assert rewound["surplus"] == (30 if is_read else 0)
        assert other["verdict"] == "equal"


class WithoutLook(Rewind):
    """Mutation: lets every partition look rewindable."""

    async def look(self, partitions, to):
        return []


def test_partitions_rewound_before_one_that_could_not_be_are_named(carrying, topic, regional):
    fill(regional, topic, "first")
    carrying.carry_all()
    send(regional, topic, records(50, partitions=1, origin="more"), PLAIN)
    carrying.carry_all()
    places = [TopicPartition(topic, number) for number in range(2)]
    longer, shorter = (carrying.entries()[each].source_offset for each in places)
    assert longer > shorter

    with pytest.raises(PartlyRewound, match=f"rewound before: {topic}-0"):
        asked(carrying, topic, "rewind", numbers=(0, 1), to=longer - 1, make=WithoutLook)
    entries = carrying.entries()
    assert [entries[each].source_offset for each in places] == [longer - 1, shorter]


def test_what_a_carrier_has_is_refused_and_so_is_what_would_leave_records_out(
    carrying, topic, regional
):
    with pytest.raises(CannotRewind, match="no record of it was mirrored yet"):
        asked(carrying, topic, "rewind")
    fill(regional, topic, "first")
    carrying.begin()
    carrying.until_carried()
    with pytest.raises(CannotRewind, match="pause it first"):
        asked(carrying, topic, "rewind")
    carrying.stop()
    with pytest.raises(CannotRewind, match="never be mirrored"):
        asked(carrying, topic, "rewind", to=10**6)
    with pytest.raises(CannotRewind, match="partitions 7 of"):
        asked(carrying, topic, "look", numbers=(7,))
    carrying.carry_all()
    assert carrying.assert_exact() == COUNT


def test_a_partition_that_a_dead_carrier_held_before_its_pause_is_taken_over_and_rewound(
    carrying, topic, regional, aggregate
):
    fill(regional, topic, "first")
    carrying.begin()
    carrying.until_carried()
    carrying.cut_off()
    place, other = (TopicPartition(topic, number) for number in range(2))
    before = carrying.entries()
    with pytest.raises(CannotRewind, match="repeat the rewind with --take-over"):
        asked(carrying, topic, "rewind", to=EARLIEST)

    taking = partial(Rewind, takes_over=True)
    (shown,) = asked(carrying, topic, "look", to=EARLIEST, make=taking)
    assert shown.goes_on_at == 0
    assert carrying.entries() == before, "looking changes nothing"
    (rewound,) = asked(carrying, topic, "rewind", to=EARLIEST, make=taking)
    assert (rewound.was_at, rewound.goes_on_at) == (size(regional, topic, 0), 0)
    after = carrying.entries()
    assert (after[place].custody, after[place].source_offset) == ("released", 0)
    assert after[other] == before[other]
    end = size(aggregate, topic, 0)
    carrying.carry_all()
    assert size(aggregate, topic, 0) == end + size(regional, topic, 0)


class Held:
    """A rewind in a thread, held before it opens a writer and before it commits."""

    def __init__(self, carrying, topic: str, pool: ThreadPoolExecutor) -> None:
        self.gates: list[Gate] = []

        def hold(target: Cluster) -> None:
            self.gates.append(Gate(target, "InitProducerId"))
            self.gates.append(Gate(target, "TxnOffsetCommit", lambda it: names_topic(it, topic)))

        self.outcome = pool.submit(asked, carrying, topic, "rewind", (0,), EARLIEST, hold)
        carrying.until(lambda: len(self.gates) == 2)

    def let_pass(self) -> None:
        for gate in self.gates:
            gate.open()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def carrier(carrying, opened: ExitStack):
    """`carrier(number)`: a carrier that has carried everything and keeps running."""

    def begin(number: int) -> Hand:
        hand = Hand(carrying, number)
        opened.callback(hand.close)
        hand.start()
        for place in carrying.entries():
            hand.until_carried(place)
        return hand

    return begin


@pytest.fixture
def held(carrying, topic, opened: ExitStack):
    """`held()`: a rewind that has read an entry and has opened no writer yet."""
    pool = opened.enter_context(ThreadPoolExecutor(1))

    def begin() -> Held:
        rewind = Held(carrying, topic, pool)
        opened.callback(rewind.let_pass)
        rewind.gates[0].wait()
        return rewind

    return begin


def test_an_entry_that_another_carrier_released_meanwhile_is_replaced_under_the_id_that_it_names(
    carrying, topic, regional, carrier, held
):
    fill(regional, topic, "first")
    carrier(0).finish()
    place = TopicPartition(topic, 0)
    rewind = held()
    carrier(1).finish()
    released = carrying.entries()[place]
    rewind.gates[0].open()
    rewind.gates[1].wait()
    # The carrier opens the transactional id that the entry names, which fences every other holder
    # of that id.
    holder = carrier(2)
    rewind.let_pass()
    with pytest.raises(Fenced):
        rewind.outcome.result(60)
    assert carrying.entries()[place].source_offset == released.source_offset
    fill(regional, topic, "second")
    holder.until_carried(place)
    holder.finish()
    assert carrying.assert_exact() == 2 * COUNT


def test_a_rewind_goes_on_under_the_id_that_a_carrier_released_the_entry_under_meanwhile(
    carrying, topic, regional, aggregate, carrier, held
):
    fill(regional, topic, "first")
    carrier(0).finish()
    before = size(aggregate, topic, 0), size(aggregate, topic, 1)
    rewind = held()
    carrier(1).finish()
    rewind.let_pass()
    (rewound,) = rewind.outcome.result(60)
    assert rewound.goes_on_at == 0
    carrying.carry_all()
    assert (size(aggregate, topic, 0), size(aggregate, topic, 1)) == (2 * before[0], before[1])
