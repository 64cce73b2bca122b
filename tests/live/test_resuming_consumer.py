"""Consumer helper on real servers: moves, late runs, stored vectors, outages of Redis."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import Producer

from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.groups.resume import ResumingConsumer, RunsUntold
from tests.live.mirrored import Mirrored, Record
from tests.live.resuming_reader import (
    CLASSIC,
    PATIENCE_SECONDS,
    PROTOCOLS,
    QUICK,
    Reader,
    east,
    west,
)

# Moves


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_that_moves_reads_every_record_once_whatever_arrives_late(
    mirrored, opened, protocol
):
    """West read its own newest records before east had them, and none of east's newest."""
    config = PROTOCOLS[protocol]
    mirrored.land("west", *west(0, 1), *east(0), *west(2, 3))
    mirrored.publish("west")
    mirrored.land("east", *east(0, 1), *west(0, 1), *east(2))
    mirrored.publish("east")
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
    mirrored.publish("east")
    second += reader.until(4)
    assert sorted(first + second) == sorted(west(0, 1, 2, 3, 4) + east(0, 1, 2, 3))
    assert len(first) + len(second) == 9
    reader.consumer.commit(asynchronous=False)
    assert mirrored.committed("east") == (9, {}), "past everything: runs say it all"


def test_while_records_may_still_be_skipped_commits_carry_the_vector(mirrored, opened):
    mirrored.land("east", *west(0, 1), *east(0))
    mirrored.publish("east")
    mirrored.commit("east", 0, {"west": 9, "east": 0})
    reader = Reader(mirrored, "east", opened)
    assert reader.until(1) == east(0)
    reader.consumer.commit(reader.messages[-1], asynchronous=False)
    assert mirrored.committed("east") == (3, {"west": 9, "east": 0})
    # A crash: nothing is committed after this.
    mirrored.land("east", *east(1), *west(7))
    mirrored.publish("east")
    assert reader.until(2) == east(1)
    reader.consumer.close()
    again = Reader(mirrored, "east", opened)
    assert again.until(1) == east(1)
    mirrored.land("east", *west(8, 9), *east(2))
    mirrored.publish("east")
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


@pytest.mark.core
def test_behind_a_real_carrier_it_skips_and_follows_new_records(
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
        stored_vectors=lambda partitions: {
            partition: {route.source: 300} for partition in partitions
        },
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


# Missing runs


def test_a_partition_that_waits_for_runs_holds_up_no_other(regional, aggregate, redis, opened):
    mirrored = Mirrored({"west": regional, "east": aggregate}, redis.url, partitions=2)
    for partition in (0, 1):
        mirrored.commit("east", 0, {"west": 1}, partition)
        mirrored.land("east", *west(0, 1), *east(0), partition=partition)
    mirrored.publish("east", partition=1)
    reader = Reader(mirrored, "east", opened)
    assert reader.until(2) == [*west(1), *east(0)]
    reader.nothing_comes()
    mirrored.publish("east", partition=0)
    assert reader.until(4) == [*west(1), *east(0)]


def test_more_than_can_be_held_is_left_with_the_broker_and_comes_in_order(mirrored, opened):
    mirrored.commit("east", 0, {"west": 1000})
    mirrored.land("east", *west(*range(3000)))
    reader = Reader(mirrored, "east", opened, held_max=700)

    def held() -> int:
        return sum(reader.consumer.held().values())

    def is_full() -> bool:
        reader.poll()
        return held() > 700

    assert until(is_full, PATIENCE_SECONDS, 0)
    full = held()
    reader.nothing_comes()
    assert held() == full < 2000
    mirrored.publish("east")
    assert reader.until(2000) == west(*range(1000, 3000))


def test_a_record_without_a_run_is_an_error_that_names_it_and_reading_continues(mirrored, opened):
    mirrored.commit("east", 0, {"west": 1})
    mirrored.land("east", *west(0, 1))
    reader = Reader(mirrored, "east", opened, patience_seconds=2)
    with pytest.raises(RunsUntold, match=r"-0 at offset 0: .*west>east.*sluice replicate"):
        reader.until(1)
    mirrored.publish("east")
    assert reader.until(1) == west(1)


def test_an_application_may_read_twice_instead_of_waiting(mirrored, opened):
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
    mirrored.publish("east")
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
        mirrored.publish_again()
        mirrored.publish("east")
        assert reader.until(1) == west(5)
    assert "event=runs-read-again" in caplog.text


# Stored vectors


def test_a_stored_vector_ahead_of_the_commit_skips(mirrored, opened):
    """The application has stored more than the last commit that was copied."""
    mirrored.land("east", *west(0, 1, 2), *east(0))
    mirrored.publish("east")
    mirrored.commit("east", 0, {"west": 0})
    stored = {(mirrored.topic, 0): {"west": 2, "east": 1}}
    reader = Reader(mirrored, "east", opened, stored_vectors=lambda _: stored)
    assert reader.until(1) == west(2)
    reader.until_position(4)
    assert reader.consumer.vectors() == {(mirrored.topic, 0): {"west": 3, "east": 1}}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stored_vector_behind_the_commit_goes_back(mirrored, opened, protocol):
    """The offset was committed, but the effects were not stored."""
    mirrored.land("east", *west(0, 1, 2), *east(0, 1))
    mirrored.publish("east")
    mirrored.commit("east", 5, {"west": 3, "east": 2})
    stored = {(mirrored.topic, 0): {"west": 1, "east": 1}}
    reader = Reader(
        mirrored, "east", opened, stored_vectors=lambda _: stored, config=PROTOCOLS[protocol]
    )
    assert reader.until(3) == [*west(1, 2), *east(1)]
    progress = [reader.consumer.progress(message) for message in reader.messages]
    assert progress == [
        {"west": 2, "east": 1},
        {"west": 3, "east": 1},
        {"west": 3, "east": 2},
    ]


def test_an_unplanned_move_is_exact_with_stored_vectors(mirrored, opened):
    """East does not know the last commit in west, but it has the stored vector."""
    database: dict[tuple[str, int], dict[str, int]] = {}
    effects: list[Record] = []

    def handle(reader: Reader, count: int) -> None:
        effects.extend(reader.until(len(reader.messages) + count))
        database[mirrored.topic, 0] = reader.consumer.progress(reader.messages[-1])

    mirrored.land("west", *west(0, 1), *east(0), *west(2))
    mirrored.publish("west")
    mirrored.land("east", *east(0, 1), *west(0))
    mirrored.publish("east")
    reader = Reader(mirrored, "west", opened, stored_vectors=lambda _: database)
    handle(reader, 3)
    assert database == {(mirrored.topic, 0): {"west": 2, "east": 1}}
    # West is lost; its last copied commit was the one after the first record.
    mirrored.commit("east", 0, {"west": 1})
    moved = Reader(mirrored, "east", opened, stored_vectors=lambda _: database)
    handle(moved, 1)
    mirrored.land("east", *west(1, 2), *east(2))
    mirrored.publish("east")
    handle(moved, 2)
    assert effects == [*west(0, 1), *east(0), *east(1), *west(2), *east(2)]
