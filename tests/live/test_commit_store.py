"""Commits in a real Redis: repeated, lost, late and flushed ones."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from balancer.topic_partition import TopicPartition
from deploy.lab.redis import RedisServer
from replicator.groups.copies.commit_store import CommitStore, newest
from replicator.kafka.protocol.commit_record import Commit, Committed
from replicator.kafka.tail.consumer_offsets import CommitRecord
from replicator.kafka.tail.stored_positions import StoreBehind
from replicator.kafka.tail.tail_position import (
    Portion,
    Reading,
    TailPosition,
    Version,
    VersionedRecord,
)
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.copying import opening

pytestmark = pytest.mark.stores

BEGIN = TailPosition("topic", 0)
REBUILT = TailPosition("topic of the new cluster", 1)
FLIGHTS = TopicPartition("flights", 0)
BESIDE = TopicPartition("flights", 1)
NOW_MS = 1_000_000


@pytest.fixture
def store(redis):
    with CommitStore(redis.url, "west") as store:
        store.put(opening(0))
        yield store


def at(offset: int, metadata: str = "") -> Commit:
    return Commit(offset, metadata, at_ms=1)


def of(group: str, partition: TopicPartition = FLIGHTS) -> Committed:
    return Committed(group, *partition)


Record = tuple[Committed, Commit | None]


def portion(
    records: Iterable[Record], begin: TailPosition = BEGIN, caught_up_ms: int | None = None
) -> Portion:
    """Returns a portion of these records with consecutive offsets from `begin` on."""
    reading = Reading(begin)
    for offset, (committed, commit) in enumerate(records, begin.offset):
        reading.read(offset, 0, CommitRecord(committed, commit))
    if caught_up_ms is not None:
        reading.reach(reading.position.offset)
        reading.expect(reading.position.offset, caught_up_ms)
    return reading.take() or Portion(begin, begin)


# Delivery of portions


class Telling(NamedTuple):
    number: int
    portion: Portion


@st.composite
def tellings(draw) -> list[Telling]:
    """Generates portions of two partitions, in order; each group is in one partition."""
    told = [Telling(number, opening(number)[number]) for number in (0, 1)]
    for number, groups in enumerate((["one", "two"], ["three"])):
        begin = BEGIN
        for _ in range(draw(st.integers(2, 5))):
            committed = st.builds(of, st.sampled_from(groups), st.sampled_from([FLIGHTS, ("b", 1)]))
            commit = st.none() | st.integers(0, 99).map(at)
            records = draw(st.lists(st.tuples(committed, commit), max_size=3))
            told.append(Telling(number, portion(records, begin, draw(st.none() | st.just(NOW_MS)))))
            begin = told[-1].portion.end
    return told


def put(store: CommitStore, each: Telling) -> None:
    """Stores a portion and ignores a refusal."""
    with suppress(StoreBehind):
        store.put({each.number: each.portion})


def content(store: CommitStore, server: RedisServer) -> dict[str, object]:
    """Returns the content of all keys."""
    with Redis.from_url(server.url, decode_responses=True) as client:
        return {name: client.hgetall(name) for name in client.scan_iter()}


def live_in(store: CommitStore) -> dict[Committed, Commit]:
    found = store.commits(store.groups())
    assert all(found.values())
    return {of(group, partition): it for group in found for partition, it in found[group].items()}


def live_up_to(positions: dict[int, TailPosition], told: list[Telling]) -> dict[Committed, Commit]:
    """Returns the last commit of each group and partition before these positions."""
    last = {
        record.committed: record.commit
        for number, portion in told
        for version, record in portion.told
        if number in positions and version.log_offset < positions[number].offset
    }
    return {committed: commit for committed, commit in last.items() if commit is not None}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tellings(), st.data())
def test_repeated_shuffled_lost_and_flushed_it_holds_all_up_to_its_positions_and_in_the_end_all(
    store, redis, told, data
):
    with Redis.from_url(redis.url) as client:
        client.flushall()
        for each in told:
            put(store, each)
        expected = content(store, redis)

        client.flushall()
        for each in data.draw(st.lists(st.sampled_from([*told, "flush"]), min_size=4, max_size=20)):
            if each == "flush":
                client.flushall()
            else:
                put(store, each)
        assert live_in(store) == live_up_to(store.position(), told)
        for each in told:
            put(store, each)
        assert content(store, redis) == expected


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 9))), st.data())
def test_the_newest_of_each_key_is_found_in_any_order_and_with_repetitions(log, data):
    told = [
        VersionedRecord(Version(0, offset), CommitRecord(of(group), None if it is None else at(it)))
        for offset, (group, it) in enumerate(log)
    ]
    again = data.draw(st.permutations(told * 2))
    assert newest(again) == {each.record.committed: each for each in told}


def test_an_older_commit_that_comes_late_does_not_undo_a_deletion(store):
    early = portion([(of("g"), at(5))])
    store.put({0: early})
    store.put({0: portion([(of("g"), None)], early.end)})
    store.put({0: early})
    assert store.commits(["g"]) == {"g": {}}
    assert store.groups() == []


def test_a_group_that_was_rewound_shows_the_lower_offset(store):
    store.put({0: portion([(of("g"), at(500)), (of("g"), at(3))])})
    assert store.commits(["g"]) == {"g": {FLIGHTS: at(3)}}


def test_a_portion_that_leaves_something_out_is_refused_and_the_others_are_taken(store):
    gap = TailPosition("topic", 0, 10)
    with pytest.raises(StoreBehind, match=r"partitions \[1\]"):
        store.put({0: portion([(of("g"), at(1))]), 1: portion([(of("h"), at(1))], gap)})
    assert store.groups() == ["g"]
    assert set(store.position()) == {0}


def test_a_newer_era_is_newer_however_small_its_offsets_are(store):
    former = portion([(of("g"), at(n)) for n in range(20)])
    store.put({0: former})
    anew = portion([(of("g"), at(7))], BEGIN.anew())
    store.put({0: anew})
    assert store.commits(["g"]) == {"g": {FLIGHTS: at(7)}}
    for late in (former, portion([(of("g"), at(99))], former.end)):
        with pytest.raises(StoreBehind):
            store.put({0: late})
    assert store.commits(["g"]) == {"g": {FLIGHTS: at(7)}}
    assert store.position() == {0: anew.end}


# Rebuilt clusters


@pytest.mark.core
def test_commits_of_the_former_cluster_are_not_known_any_more(store):
    store.put(opening(1))
    store.put({0: portion([(of("g"), at(9000)), (of("h"), at(9000))])})
    store.put({1: portion([(of("i"), at(9000))])})
    store.put(opening(0, 1, begin=REBUILT))
    assert store.groups() == []
    store.put({0: portion([(of("h"), at(7)), (of("h", BESIDE), at(8))], REBUILT)})
    assert store.groups() == ["h"]
    assert store.commits("ghi") == {"g": {}, "h": {FLIGHTS: at(7), BESIDE: at(8)}, "i": {}}
    begin = store.position()[0]
    store.put({0: portion([(of("g"), at(3)), (of("h"), None), (of("h", BESIDE), None)], begin)})
    assert store.groups() == ["g"]
    assert store.commits("ghi") == {"g": {FLIGHTS: at(3)}, "h": {}, "i": {}}


def test_of_a_log_that_was_cut_in_one_partition_every_commit_stays_known(store):
    store.put(opening(1))
    store.put({0: portion([(of("g"), at(1)), (of("h"), at(2))])})
    store.put(opening(0, begin=BEGIN.anew()))
    store.put({0: portion([(of("g"), at(1))], BEGIN.anew())})
    assert store.groups() == ["g", "h"]
    assert store.commits("gh") == {"g": {FLIGHTS: at(1)}, "h": {FLIGHTS: at(2)}}


# Other properties


def test_regions_and_groups_never_mix_whatever_their_names(store, redis):
    names = ["g", "west:g", "*", "ü \0 {x}", ""]
    store.put({0: portion([(of(name), at(n, "ü\0")) for n, name in enumerate(names)])})
    with CommitStore(redis.url, "east") as east:
        east.put(opening(0))
        east.put({0: portion([(of("g"), at(77))])})
        assert east.groups() == ["g"]
    assert store.groups() == sorted(names)
    assert store.commits(names) == {name: {FLIGHTS: at(n, "ü\0")} for n, name in enumerate(names)}


def test_the_largest_offset_survives(store):
    store.put({0: portion([(of("g"), at(2**63 - 1))])})
    assert store.commits(["g"]) == {"g": {FLIGHTS: at(2**63 - 1)}}


def test_a_group_without_commits_is_forgotten_in_the_end_unless_it_comes_back(store, redis):
    begin = BEGIN
    with Redis.from_url(redis.url) as client:
        for commit in (at(1), at(2), None):
            deleted = portion([(of("g"), commit)], begin)
            store.put({0: deleted})
            begin = deleted.end
        assert store.groups() == []
        assert client.ttl("sluice:commits:west:g") > 24 * 3600
        store.put({0: portion([(of("g"), at(2))], deleted.end)})
        assert client.ttl("sluice:commits:west:g") == -1
    assert store.commits(["g"]) == {"g": {FLIGHTS: at(2)}}


def test_all_commits_of_a_hundred_groups_on_64_partitions_are_found(store):
    partitions = [TopicPartition("flights", number) for number in range(64)]
    groups = [f"group-{number}" for number in range(100)]
    for group in groups:
        begin = store.position().get(0, BEGIN)
        store.put({0: portion([(of(group, partition), at(5)) for partition in partitions], begin)})
    assert store.commits(store.groups()) == {
        group: dict.fromkeys(partitions, at(5)) for group in groups
    }


def test_a_store_that_is_away_is_named_without_its_password(tmp_path):
    url = RedisServer(tmp_path).url.replace("redis://", "redis://user:secret@")
    with CommitStore(url, "west") as store:
        for ask in (store.groups, store.position, lambda: store.age(1), lambda: store.put({})):
            with pytest.raises(StoreUnreachable, match="Redis at") as caught:
                ask()
            assert "secret" not in str(caught.value)
