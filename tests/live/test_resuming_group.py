"""`replicator.groups.resume` in a group: changing members, and commits when handling ends early."""

from __future__ import annotations

from contextlib import suppress

import pytest
from confluent_kafka import Message

from deploy.lab.wait import until
from replicator.groups.resume import ResumingConsumer, RunsUntold
from replicator.groups.resume.message_fetcher import BATCH_RECORDS
from tests.live.mirrored import Mirrored, Record, record
from tests.live.resuming_reader import (
    CLASSIC,
    PATIENCE_SECONDS,
    PROTOCOLS,
    QUICK,
    Reader,
    east,
    west,
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_partitions_that_change_hands_lose_and_repeat_nothing(
    regional, aggregate, redis, opened, protocol
):
    mirrored = Mirrored({"west": regional, "east": aggregate}, redis.url, partitions=4)
    config = PROTOCOLS[protocol] | {"enable.auto.commit": True, "auto.commit.interval.ms": 100}
    for partition in range(4):
        mirrored.commit("east", 0, {"west": 10}, partition)

    def land(begin: int, end: int) -> None:
        for partition in range(4):
            records = [r for at in range(begin, end) for r in (("west", at), ("east", at))]
            mirrored.land("east", *records, partition=partition)
        mirrored.publish("east")

    readers = [Reader(mirrored, "east", opened, config=config)]

    def read() -> list[tuple[int, Record]]:
        return sorted(
            (message.partition(), record(message)) for each in readers for message in each.messages
        )

    def until_read(end: int) -> None:
        expected = sorted(
            (partition, each)
            for partition in range(4)
            for each in [*west(*range(10, end)), *east(*range(end))]
        )

        def is_read() -> bool:
            for each in readers:
                each.poll()
            return len(read()) >= len(expected)

        assert until(is_read, PATIENCE_SECONDS, 0)
        assert read() == expected

    land(0, 5)
    until_read(5)
    readers.append(Reader(mirrored, "east", opened, config=config))

    def is_shared() -> bool:
        for each in readers:
            each.poll()
        return [len(each.consumer.assignment()) for each in readers] == [2, 2]

    assert until(is_shared, PATIENCE_SECONDS, 0)
    land(5, 12)
    until_read(12)
    readers[0].consumer.close()
    gone = readers[0]
    readers[0] = readers[1]
    done = gone.messages
    land(12, 14)
    expected = 4 * (4 + 14)

    def is_taken_over() -> bool:
        readers[1].poll()
        return len(done) + len(readers[1].messages) >= expected

    assert until(is_taken_over, PATIENCE_SECONDS, 0)
    readers[1].consumer.close()
    everything = sorted((m.partition(), record(m)) for m in [*done, *readers[1].messages])
    assert everything == sorted(
        (partition, each)
        for partition in range(4)
        for each in [*west(*range(10, 14)), *east(*range(14))]
    )
    assert {mirrored.committed("east", partition)[0] for partition in range(4)} == {28}


def test_messages_not_handled_are_not_committed_when_an_error_ends_the_consumer(mirrored, opened):
    config = {"group.id": mirrored.group, **QUICK, "auto.commit.interval.ms": 0}
    mirrored.land("east", *west(0, 1, 2))

    def handle_two(consumer: ResumingConsumer) -> None:
        with consumer:
            consumer.subscribe([mirrored.topic])
            for number, _ in enumerate(consumer):
                if number == 1:
                    raise InterruptedError

    with pytest.raises(InterruptedError):
        handle_two(ResumingConsumer(config, region="east", appliance=mirrored.appliance))
    assert mirrored.committed("east") == (1, {})


def test_of_a_batch_nothing_is_committed_when_an_error_ends_its_handling(mirrored, opened):
    config = {"group.id": mirrored.group, **QUICK, "auto.commit.interval.ms": 60_000}
    mirrored.land("east", *west(*range(20)))

    def handle(consumer: ResumingConsumer) -> None:
        with consumer:
            consumer.subscribe([mirrored.topic])
            batches: list[int] = []
            while batch := consumer.consume(5, PATIENCE_SECONDS):
                batches.append(batch[-1].offset() + 1)
                if len(batches) > 1:
                    handled.append(batch[0].offset())
                    raise InterruptedError

    handled: list[int] = []
    with pytest.raises(InterruptedError):
        handle(ResumingConsumer(config, region="east", appliance=mirrored.appliance))
    assert mirrored.committed("east") == (handled[0], {})


def test_a_part_of_a_batch_that_the_application_committed_stays_committed(mirrored, opened):
    config = {"group.id": mirrored.group, **QUICK, "auto.commit.interval.ms": 60_000}
    mirrored.land("east", *west(*range(20)))

    def handle(consumer: ResumingConsumer) -> None:
        with consumer:
            consumer.subscribe([mirrored.topic])
            batch: list[Message] = []
            while len(batch) < 5:
                batch = consumer.consume(10, PATIENCE_SECONDS)
                assert batch
            handled.append(batch[3].offset() + 1)
            consumer.commit(batch[3], asynchronous=False)
            raise InterruptedError

    handled: list[int] = []
    with pytest.raises(InterruptedError):
        handle(ResumingConsumer(config, region="east", appliance=mirrored.appliance))
    assert mirrored.committed("east") == (handled[0], {})


def test_handled_messages_are_committed_when_the_next_record_has_no_run(mirrored, opened):
    """RunsUntold concerns the next record, not the message before."""
    config = {"group.id": mirrored.group, **QUICK, "auto.commit.interval.ms": 60_000}
    mirrored.commit("east", 0, {"west": 1, "east": 9})
    mirrored.land("east", *west(1))
    mirrored.publish("east")
    consumer = ResumingConsumer(
        config, region="east", appliance=mirrored.appliance, patience_seconds=5
    )
    read: list[int] = []

    def handle() -> None:
        with consumer:
            consumer.subscribe([mirrored.topic])
            for message in consumer:
                read.append(message.offset())
                mirrored.land("east", *east(0))

    with pytest.raises(RunsUntold):
        handle()
    assert read == [0]
    assert mirrored.committed("east") == (1, {"west": 1, "east": 9})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_partition_that_was_full_when_it_went_away_is_read_when_it_comes_back(
    regional, aggregate, redis, opened, protocol
):
    mirrored = Mirrored({"west": regional, "east": aggregate}, redis.url, partitions=2)
    for partition in (0, 1):
        mirrored.commit("east", 0, {"west": 100}, partition)
        mirrored.land("east", *west(*range(200)), partition=partition)
    config = PROTOCOLS[protocol]
    reader = Reader(mirrored, "east", opened, config=config, held_max=50)
    both = {(mirrored.topic, 0), (mirrored.topic, 1)}

    def is_full_of(partitions: set[tuple[str, int]]) -> bool:
        reader.poll()
        held = reader.consumer.held()
        return held.keys() == partitions and all(count > 50 for count in held.values())

    assert until(lambda: is_full_of(both), PATIENCE_SECONDS, 0)
    other = Reader(mirrored, "east", opened, config=config)

    def is_shared() -> bool:
        reader.poll()
        other.poll()
        return [len(each.consumer.held()) for each in (reader, other)] == [1, 1]

    assert until(is_shared, PATIENCE_SECONDS, 0)
    other.consumer.close()
    mirrored.publish("east")
    reader.until(200)
    assert sorted(reader.read) == sorted(west(*range(100, 200)) * 2)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_database_that_is_away_at_the_assignment_holds_it_up_and_loses_nothing(
    mirrored, opened, protocol
):
    mirrored.land("east", *west(0, 1, 2))
    mirrored.publish("east")
    mirrored.commit("east", 0, {})
    troubles = [ConnectionError("no database")] * 3
    began: list[int] = []

    def stored(partitions):
        if troubles:
            raise troubles.pop()
        return {partition: {"west": 1} for partition in partitions}

    reader = Reader(mirrored, "east", opened, stored_vectors=stored, config=PROTOCOLS[protocol])
    reader.consumer.subscribe([mirrored.topic], on_assign=lambda _, at: began.append(len(at)))
    for _ in range(3):
        with pytest.raises(ConnectionError, match="no database"):
            reader.until(1)
        assert not began
    assert reader.until(2) == west(1, 2)
    assert began == [1]
    reader.consumer.commit(asynchronous=False)
    assert mirrored.committed("east")[0] == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_partitions_that_could_not_be_begun_can_go_to_another_member(
    regional, aggregate, redis, opened, protocol
):
    mirrored = Mirrored({"west": regional, "east": aggregate}, redis.url, partitions=2)
    for partition in (0, 1):
        mirrored.land("east", *west(0, 1, 2), partition=partition)
    mirrored.publish("east")
    config = PROTOCOLS[protocol]
    tries: list[int] = []

    def away(_):
        tries.append(1)
        raise ConnectionError

    def unable() -> None:
        with suppress(ConnectionError):
            troubled.poll()

    def is_tried() -> bool:
        unable()
        return bool(tries)

    troubled = Reader(mirrored, "east", opened, stored_vectors=away, config=config)
    assert until(is_tried, PATIENCE_SECONDS, 0)
    other = Reader(mirrored, "east", opened, config=config)

    def is_half_read() -> bool:
        unable()
        other.poll()
        return len(other.messages) >= 3

    assert until(is_half_read, PATIENCE_SECONDS, 0)
    assert not troubled.messages
    troubled.consumer.close()
    other.until(6)
    assert sorted(other.read) == sorted(west(0, 1, 2) * 2)


def test_an_applications_callback_that_fails_loses_no_message(mirrored, opened):
    """confluent_kafka drops the messages that it fetched in a call whose callback raised."""
    count = 10 * BATCH_RECORDS
    mirrored.land("east", *west(*range(count)))

    def told(*_) -> None:
        if len(reader.messages) < count:
            raise InterruptedError

    reader = Reader(mirrored, "east", opened, config=CLASSIC | {"on_commit": told})
    errors = 0
    while len(reader.messages) < count:
        try:
            reader.until(min(count, len(reader.messages) + 10))
            reader.consumer.commit()
        except InterruptedError:
            errors += 1
    assert errors
    assert [message.offset() for message in reader.messages] == [*range(count)]
