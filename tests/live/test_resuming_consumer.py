"""The helper on real servers: moves, late records and runs, rebalances, crashes, Redis away."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from confluent_kafka import KafkaException, Producer

from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.resume import ResumingConsumer, RunsUntold
from replicator.resume.runs_reader import Question
from tests.live.mirrored import Mirrored, Record, record

PATIENCE_SECONDS = 60.0
CLASSIC = {"session.timeout.ms": 6000}
PROTOCOLS = {
    "classic": CLASSIC,
    "cooperative": CLASSIC | {"partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
QUICK = {"auto.offset.reset": "earliest", "fetch.wait.max.ms": 20, "log_level": 0}


@pytest.fixture
def mirrored(regional, aggregate, redis) -> Mirrored:
    """The shared clusters are the aggregates of west and east."""
    return Mirrored({"west": regional, "east": aggregate}, redis.url)


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Reader:
    """An application of one thread; what it read stands in `read`."""

    def __init__(self, mirrored: Mirrored, region: str, stack: ExitStack, **options) -> None:
        config = {"group.id": mirrored.group, "enable.auto.commit": False, **QUICK}
        config |= options.pop("config", CLASSIC)
        self.consumer = ResumingConsumer(
            config, region=region, appliance=mirrored.appliance, **options
        )
        stack.callback(self.consumer.close)
        self.consumer.subscribe([mirrored.topic])
        self.messages = []

    @property
    def read(self) -> list[Record]:
        return [record(message) for message in self.messages]

    def poll(self) -> None:
        message = self.consumer.poll(0.05)
        if message is not None:
            self.messages.append(message)

    def until(self, count: int) -> list[Record]:
        """Polls until so many were read, and returns those of this call."""
        before = len(self.messages)

        def has_read() -> bool:
            self.poll()
            return len(self.messages) >= count

        assert until(has_read, PATIENCE_SECONDS, 0), self.read
        return self.read[before:]

    def until_position(self, offset: int, partition: int = 0) -> None:
        """Until everything before an offset was handed out or skipped."""

        def is_there() -> bool:
            self.poll()
            return any(
                at.partition == partition and at.offset == offset for at in self.consumer.offsets()
            )

        assert until(is_there, PATIENCE_SECONDS, 0), self.consumer.offsets()

    def nothing_comes(self, seconds: float = 0.7) -> None:
        count, end = len(self.messages), time.monotonic() + seconds
        while time.monotonic() < end:
            self.poll()
        assert len(self.messages) == count, self.read[count:]


def west(*offsets: int) -> list[Record]:
    return [("west", offset) for offset in offsets]


def east(*offsets: int) -> list[Record]:
    return [("east", offset) for offset in offsets]


# Moves


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_that_moves_reads_every_record_once_whatever_arrives_late(
    mirrored, opened, protocol
):
    """West read its own newest records before east had them, and none of east's newest."""
    config = PROTOCOLS[protocol]
    mirrored.land("west", *west(0, 1), *east(0), *west(2, 3))
    mirrored.tell("west")
    mirrored.land("east", *east(0, 1), *west(0, 1), *east(2))
    mirrored.tell("east")
    reader = Reader(mirrored, "west", opened, config=config)
    first = reader.until(5)
    reader.consumer.commit(asynchronous=False)
    reader.consumer.close()

    mirrored.commit("east", 1, {"west": 4, "east": 1})
    reader = Reader(mirrored, "east", opened, config=config)
    second = reader.until(2)
    assert second == east(1, 2)
    mirrored.land("east", *west(2), *east(3), *west(3, 4))
    reader.nothing_comes()
    mirrored.tell("east")
    second += reader.until(4)
    assert sorted(first + second) == sorted(west(0, 1, 2, 3, 4) + east(0, 1, 2, 3))
    assert len(first) + len(second) == 9
    reader.consumer.commit(asynchronous=False)
    assert mirrored.committed("east") == (9, {}), "past everything: runs say it all"


def test_while_records_may_still_be_skipped_commits_carry_the_vector(mirrored, opened):
    mirrored.land("east", *west(0, 1), *east(0))
    mirrored.tell("east")
    mirrored.commit("east", 0, {"west": 9, "east": 0})
    reader = Reader(mirrored, "east", opened)
    assert reader.until(1) == east(0)
    reader.consumer.commit(reader.messages[-1], asynchronous=False)
    assert mirrored.committed("east") == (3, {"west": 9, "east": 0})
    # A crash: nothing is committed after this.
    mirrored.land("east", *east(1), *west(7))
    mirrored.tell("east")
    assert reader.until(2) == east(1)
    reader.consumer.close()
    again = Reader(mirrored, "east", opened)
    assert again.until(1) == east(1)
    mirrored.land("east", *west(8, 9), *east(2))
    mirrored.tell("east")
    assert again.until(3) == [*west(9), *east(2)]


def test_without_a_vector_it_is_a_consumer_like_any_other_and_needs_no_redis(
    regional, aggregate, opened, tmp_path
):
    server = RedisServer(tmp_path)
    mirrored = Mirrored({"west": regional, "east": aggregate}, server.url)
    mirrored.land("east", *west(0, 1), *east(0))
    reader = Reader(mirrored, "east", opened)
    assert reader.until(3) == [*west(0, 1), *east(0)]
    reader.consumer.commit(asynchronous=False)
    assert mirrored.committed("east") == (3, {})


def test_behind_a_real_carrier_it_skips_and_follows_what_arrives(
    regional, aggregate, carry, make_topic, opened
):
    topic = make_topic(regional, aggregate)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    carrying.begin()
    (route,) = carrying.routes.values()
    config = {"group.id": f"of-{topic}", "enable.auto.commit": False, **QUICK, **CLASSIC}
    consumer = ResumingConsumer(
        config,
        region=route.target,
        appliance=carrying.appliance,
        stored_vectors=lambda places: {place: {route.source: 300} for place in places},
    )
    opened.callback(consumer.close)
    consumer.subscribe([topic])
    producer = Producer(regional.librdkafka_options())
    read = []
    for number in range(900):
        producer.produce(topic, str(number))
        producer.poll(0)
        if number % 100 == 99:
            producer.flush()
            end = max(0, number - 299)

            def is_read(end: int = end) -> bool:
                message = consumer.poll(0.05)
                if message is not None:
                    progress = consumer.progress(message)
                    assert progress == {route.source: int(message.value()) + 1}
                    read.append(int(message.value()))
                return len(read) >= end

            assert until(is_read, PATIENCE_SECONDS, 0), len(read)
    assert read == list(range(300, 900))


# What is not told


def test_a_partition_that_waits_for_runs_holds_up_no_other(regional, aggregate, redis, opened):
    mirrored = Mirrored({"west": regional, "east": aggregate}, redis.url, partitions=2)
    for partition in (0, 1):
        mirrored.commit("east", 0, {"west": 1}, partition)
        mirrored.land("east", *west(0, 1), *east(0), partition=partition)
    mirrored.tell("east", partition=1)
    reader = Reader(mirrored, "east", opened)
    assert reader.until(2) == [*west(1), *east(0)]
    reader.nothing_comes()
    mirrored.tell("east", partition=0)
    assert reader.until(4) == [*west(1), *east(0)]


def test_more_than_can_be_held_is_left_with_the_broker_and_comes_in_order(
    mirrored, opened, monkeypatch
):
    monkeypatch.setattr("replicator.resume.assigned.HELD_MAX", 700)
    mirrored.commit("east", 0, {"west": 1000})
    mirrored.land("east", *west(*range(3000)))
    reader = Reader(mirrored, "east", opened)
    held = lambda: next(iter(reader.consumer._assigned.values())).partition.held  # noqa: E731

    def is_full() -> bool:
        reader.poll()
        return bool(reader.consumer._assigned) and held() > 700

    assert until(is_full, PATIENCE_SECONDS, 0)
    full = held()
    reader.nothing_comes()
    assert held() == full < 2000
    mirrored.tell("east")
    assert reader.until(2000) == west(*range(1000, 3000))


def test_what_nobody_tells_is_an_error_that_names_it_and_afterwards_goes_on(mirrored, opened):
    mirrored.commit("east", 0, {"west": 1})
    mirrored.land("east", *west(0, 1))
    reader = Reader(mirrored, "east", opened, patience_seconds=2)
    with pytest.raises(RunsUntold, match=r"-0 at offset 0: .*west>east.*sluice replicate"):
        reader.until(1)
    mirrored.tell("east")
    assert reader.until(1) == west(1)


def test_who_would_rather_read_twice_than_wait_may_say_so(mirrored, opened):
    mirrored.commit("east", 0, {"west": 1})
    mirrored.land("east", *west(0, 1))
    reader = Reader(mirrored, "east", opened, patience_seconds=0.5, untold="deliver")
    assert reader.until(2) == west(0, 1)


def test_with_redis_away_records_wait_and_nothing_is_guessed(
    regional, aggregate, opened, tmp_path, caplog
):
    server = RedisServer(tmp_path)
    server.start()
    opened.callback(server.kill)
    server.wait_ready()
    mirrored = Mirrored({"west": regional, "east": aggregate}, server.url)
    mirrored.land("east", *west(0, 1))
    mirrored.tell("east")
    mirrored.commit("east", 0, {"west": 5})
    reader = Reader(mirrored, "east", opened)
    reader.until_position(2)
    server.kill()
    mirrored.land("east", *west(4, 5))
    with caplog.at_level(logging.INFO):
        reader.nothing_comes(2)
        assert "event=runs-unread Redis at" in caplog.text
        server.start()
        server.wait_ready()
        mirrored.tell_again()
        mirrored.tell("east")
        assert reader.until(1) == west(5)
    assert "event=runs-read-again" in caplog.text


# Stored vectors


def test_a_stored_vector_ahead_of_the_commit_skips(mirrored, opened):
    """The application had stored more than the last commit that was copied."""
    mirrored.land("east", *west(0, 1, 2), *east(0))
    mirrored.tell("east")
    mirrored.commit("east", 0, {"west": 0})
    stored = {(mirrored.topic, 0): {"west": 2, "east": 1}}
    reader = Reader(mirrored, "east", opened, stored_vectors=lambda _: stored)
    assert reader.until(1) == west(2)
    reader.until_position(4)
    assert reader.consumer.vectors() == {(mirrored.topic, 0): {"west": 3, "east": 1}}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stored_vector_behind_the_commit_goes_back(mirrored, opened, protocol):
    """The commit was made and the effects were not."""
    mirrored.land("east", *west(0, 1, 2), *east(0, 1))
    mirrored.tell("east")
    mirrored.commit("east", 5, {"west": 3, "east": 2})
    stored = {(mirrored.topic, 0): {"west": 1, "east": 1}}
    reader = Reader(
        mirrored, "east", opened, stored_vectors=lambda _: stored, config=PROTOCOLS[protocol]
    )
    assert reader.until(3) == [*west(1, 2), *east(1)]
    progress = [reader.consumer.progress(message) for message in reader.messages]
    assert progress == [
        {"west": 2, "east": 0},
        {"west": 3, "east": 0},
        {"west": 3, "east": 2},
    ] or progress[-1] == {"west": 3, "east": 2}


def test_an_unplanned_move_is_exact_for_who_stores_vectors(mirrored, opened):
    """What was committed last in west is not known in east; what was stored is."""
    database: dict[tuple[str, int], dict[str, int]] = {}
    effects: list[Record] = []

    def handle(reader: Reader, count: int) -> None:
        effects.extend(reader.until(len(reader.messages) + count))
        database[mirrored.topic, 0] = reader.consumer.progress(reader.messages[-1])

    mirrored.land("west", *west(0, 1), *east(0), *west(2))
    mirrored.tell("west")
    mirrored.land("east", *east(0, 1), *west(0))
    mirrored.tell("east")
    reader = Reader(mirrored, "west", opened, stored_vectors=lambda _: database)
    handle(reader, 3)
    assert database == {(mirrored.topic, 0): {"west": 2, "east": 1}}
    # West is gone; its last copied commit was the one after the first record.
    mirrored.commit("east", 0, {"west": 1})
    moved = Reader(mirrored, "east", opened, stored_vectors=lambda _: database)
    handle(moved, 1)
    mirrored.land("east", *west(1, 2), *east(2))
    mirrored.tell("east")
    handle(moved, 2)
    assert effects == [*west(0, 1), *east(0), *east(1), *west(2), *east(2)]


# The group


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
        mirrored.tell("east")

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


def test_what_was_not_handled_is_not_committed_when_an_error_ends_it(mirrored, opened):
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


def test_what_the_application_committed_of_a_batch_stays_committed(mirrored, opened):
    config = {"group.id": mirrored.group, **QUICK, "auto.commit.interval.ms": 60_000}
    mirrored.land("east", *west(*range(20)))

    def handle(consumer: ResumingConsumer) -> None:
        with consumer:
            consumer.subscribe([mirrored.topic])
            assert until(lambda: len(consumer._deliveries._ready) > 9 or fetch(consumer), 30, 0)
            batch = consumer.consume(10, PATIENCE_SECONDS)
            consumer.commit(batch[3], asynchronous=False)
            raise InterruptedError

    def fetch(consumer: ResumingConsumer) -> bool:
        consumer._fetch(0.05)
        return False

    with pytest.raises(InterruptedError):
        handle(ResumingConsumer(config, region="east", appliance=mirrored.appliance))
    assert mirrored.committed("east") == (4, {})


def test_what_was_handled_is_committed_when_what_follows_is_not_told(mirrored, opened):
    """RunsUntold says nothing about the message before."""
    config = {"group.id": mirrored.group, **QUICK, "auto.commit.interval.ms": 60_000}
    mirrored.commit("east", 0, {"west": 1, "east": 9})
    mirrored.land("east", *west(1))
    mirrored.tell("east")
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
    regional, aggregate, redis, opened, monkeypatch, protocol
):
    monkeypatch.setattr("replicator.resume.assigned.HELD_MAX", 50)
    mirrored = Mirrored({"west": regional, "east": aggregate}, redis.url, partitions=2)
    for partition in (0, 1):
        mirrored.commit("east", 0, {"west": 100}, partition)
        mirrored.land("east", *west(*range(200)), partition=partition)
    config = PROTOCOLS[protocol]
    reader = Reader(mirrored, "east", opened, config=config)
    both = {(mirrored.topic, 0), (mirrored.topic, 1)}

    def is_full_of(places: set[tuple[str, int]]) -> bool:
        reader.poll()
        assigned = reader.consumer._assigned
        return assigned.keys() == places and all(each.is_paused for each in assigned.values())

    assert until(lambda: is_full_of(both), PATIENCE_SECONDS, 0)
    other = Reader(mirrored, "east", opened, config=config)

    def is_shared() -> bool:
        reader.poll()
        other.poll()
        return [len(each.consumer._assigned) for each in (reader, other)] == [1, 1]

    assert until(is_shared, PATIENCE_SECONDS, 0)
    other.consumer.close()
    mirrored.tell("east")
    reader.until(200)
    assert sorted(reader.read) == sorted(west(*range(100, 200)) * 2)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_database_that_is_away_at_the_assignment_holds_it_up_and_loses_nothing(
    mirrored, opened, protocol
):
    mirrored.land("east", *west(0, 1, 2))
    mirrored.tell("east")
    mirrored.commit("east", 0, {})
    troubles = [ConnectionError("no database")] * 3
    began: list[int] = []

    def stored(places):
        if troubles:
            raise troubles.pop()
        return {place: {"west": 1} for place in places}

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
    mirrored.tell("east")
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


def test_an_applications_callback_that_fails_loses_no_message(mirrored, opened, monkeypatch):
    """confluent_kafka throws away what it fetched in a call whose callback raised."""
    monkeypatch.setattr("replicator.resume.resuming_consumer.BATCH_RECORDS", 30)
    mirrored.land("east", *west(*range(1000)))

    def told(*_) -> None:
        if len(reader.messages) < 1000:
            raise InterruptedError

    reader = Reader(mirrored, "east", opened, config=CLASSIC | {"on_commit": told})
    errors = 0
    while len(reader.messages) < 1000:
        try:
            reader.until(min(1000, len(reader.messages) + 10))
            reader.consumer.commit()
        except InterruptedError:
            errors += 1
    assert errors
    assert [message.offset() for message in reader.messages] == [*range(1000)]


def test_what_an_earlier_assignment_was_told_is_not_taken_for_a_later_ones(mirrored, opened):
    """The answer is what that one had not been told before: alone it may say less than nothing."""
    mirrored.commit("east", 0, {"west": 1})
    mirrored.land("east", *west(0, 1))
    reader = Reader(mirrored, "east", opened)
    consumer = reader.consumer

    def is_waiting() -> bool:
        reader.poll()
        return any(each.wants_runs for each in consumer._assigned.values())

    assert until(is_waiting, PATIENCE_SECONDS, 0)
    (assigned,) = consumer._assigned.values()
    assert until(lambda: not consumer._await_runs() or consumer._runs._asked, 10, 0)
    learned: list[object] = []
    assigned.learn = learned.append
    assigned.question = Question()
    asked = consumer._runs._asked
    assert asked and until(asked[1].done, 10)
    consumer._await_runs()
    assert not learned


def test_a_message_of_another_members_partition_is_not_committed(mirrored, opened):
    mirrored.land("east", *west(0))
    reader = Reader(mirrored, "east", opened)
    reader.until(1)
    reader.consumer._drop(reader.consumer.assignment())
    with pytest.raises(KafkaException, match="is another member's now"):
        reader.consumer.commit(reader.messages[0])
