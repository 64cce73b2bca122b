"""Commits of groups: as they are read, merged in the order of their times, and by owner."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.verifier.group_commit import GroupCommit, GroupCommits
from aggregator.verifier.intent_rules import IntentRules
from aggregator.verifier.ledger_rules import LedgerRules
from aggregator.verifier.merge import TimedMerge
from aggregator.verifier.owners import Subject, owners_of
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, UnknownRegion
from replicator.kafka.protocol.commit_record import Commit, Committed

# -- Commits of groups, in every version that brokers write.

GROUP = "sluice.feed.flights.0"
READ = GroupCommits(frozenset([GROUP]), "sluice.").read
COMMITTED = Committed(GROUP, "topic", 3)


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def key(group=GROUP, version=1):
    return struct.pack(">h", version) + text(group) + text("topic") + struct.pack(">i", 3)


def value(version, offset=7, metadata="{}", at_ms=900):
    head = struct.pack(">hq", version, offset)
    if version >= 3:
        head += struct.pack(">i", 5)
    if version == 4:
        return head + bytes([len(metadata) + 1]) + metadata.encode() + struct.pack(">qb", at_ms, 0)
    tail = struct.pack(">q", at_ms) + (struct.pack(">q", 1_000) if version == 1 else b"")
    return head + text(metadata) + tail


@pytest.mark.parametrize("key_version", [0, 1])
@pytest.mark.parametrize("version", range(5))
def test_a_commit_of_every_version_is_read(version, key_version):
    epoch = 5 if version >= 3 else -1
    expected = GroupCommit(COMMITTED, Commit(7, "{}", 900, epoch), 1_000)
    assert READ(key(version=key_version), value(version), 1_000) == expected


def test_a_deletion_is_a_commit_of_nothing():
    assert READ(key(), None, 1_000) == GroupCommit(COMMITTED, None, 1_000)


def test_a_commit_of_a_newer_format_is_a_flaw_and_not_passed_over():
    found = READ(key(), struct.pack(">hq", 5, 7), 1_000)
    assert found is not None
    assert found.commit is None and "format 5" in found.flaw
    cut = READ(key(), value(3)[:-4], 1_000)
    assert cut is not None and "cut or malformed" in cut.flaw


@pytest.mark.parametrize(
    "record_key",
    [
        None,
        b"",
        b"\x00",
        key(group="orders"),
        key(group="sluice.feed.flights.9"),
        key(group="sluice.feed.flights.0.more"),
        key(version=2),
        key()[:-2],
    ],
)
def test_records_about_something_else_are_passed_over(record_key):
    assert READ(record_key, value(3), 1_000) is None


# -- Merge by time: nothing is lost, streams keep their order, and the skew bounds what is
# swapped.

SKEW_MS = 10
streams = st.lists(
    st.tuples(st.integers(-5, 5), st.lists(st.integers(0, 100), max_size=15).map(sorted)),
    min_size=1,
    max_size=4,
)
"""For each stream the error of its clock, and the true times of its items."""


def merged(found, merge):
    """Adds all items in order of true time, as tailing does, and returns what is released."""
    released = []
    items = sorted(
        (true_ms, number, true_ms + error)
        for number, (error, times) in enumerate(found)
        for true_ms in times
    )
    for true_ms, number, at_ms in items:
        merge.add(number, at_ms, (true_ms, number))
        for other, (error, _) in enumerate(found):
            merge.reach(other, true_ms + error if other == number else true_ms - 5)
        released += merge.take()
    return released, [*merge.rest()]


@given(streams)
def test_every_item_comes_once_and_each_stream_keeps_its_order(found):
    released, rest = merged(found, TimedMerge(range(len(found)), SKEW_MS))
    for number, (_, times) in enumerate(found):
        assert [true_ms for true_ms, of in released + rest if of == number] == times


@given(streams)
def test_items_that_are_further_apart_than_the_skew_come_in_their_true_order(found):
    released, rest = merged(found, TimedMerge(range(len(found)), SKEW_MS))
    times = [true_ms for true_ms, _ in released + rest]
    latest = 0
    for true_ms in times:
        assert true_ms >= latest - SKEW_MS
        latest = max(latest, true_ms)


@given(st.lists(st.integers(0, 50), max_size=20))
def test_a_stream_whose_times_go_back_keeps_its_order(times):
    merge = TimedMerge("a", SKEW_MS)
    for number, at_ms in enumerate(times):
        merge.add("a", at_ms, number)
    assert [*merge.take(), *merge.rest()] == list(range(len(times)))


def test_nothing_is_released_before_every_stream_has_told_how_far_it_is():
    merge = TimedMerge("ab", SKEW_MS)
    merge.add("a", 5, "first")
    merge.reach("a", 1_000)
    assert [*merge.take()] == []
    merge.reach("b", 14)
    assert [*merge.take()] == []
    merge.reach("b", 15)
    assert [*merge.take()] == ["first"]


def test_the_item_that_comes_within_the_skew_may_still_be_overtaken():
    merge = TimedMerge("ab", SKEW_MS)
    merge.add("a", 100, "later")
    merge.add("b", 95, "earlier")
    assert [*merge.take()] == []
    merge.reach("a", 200)
    merge.reach("b", 200)
    assert [*merge.take()] == ["earlier", "later"]


def test_a_stream_that_stands_still_holds_up_the_others_only_up_to_a_limit():
    merge = TimedMerge("ab", SKEW_MS, items_max=3)
    released = []
    for at_ms in range(10):
        merge.add("a", at_ms, at_ms)
        released += merge.take()
    assert released == list(range(7))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=30))
def test_what_ended_streams_leave_comes_out_sorted_by_time(added):
    merge = TimedMerge("abc", SKEW_MS)
    times: dict[str, int] = {}
    for stream, at_ms in added:
        times[stream] = max(times.get(stream, 0), at_ms)
        merge.add(stream, at_ms, times[stream])
    assert all(a <= b for a, b in pairwise(merge.rest()))


# -- Owners: the groups of a region's feeds and routes, each in the cluster that keeps them.

EAST = ClusterName.aggregate("east")


def appliance(feeds, routes=("west>east", "east>west")):
    regions = {
        name: {
            "redis": f"redis://127.0.0.1:{port}",
            "regional": {"bootstrap": [f"127.0.0.1:{port + 1}"]},
            "aggregate": {"bootstrap": [f"127.0.0.1:{port + 2}"]},
        }
        for name, port in (("west", 7000), ("east", 7010))
    }
    return Appliance.model_validate({"regions": regions, "routes": routes, "feeds": feeds})


def feed(region, *clusters):
    return {
        "region": region,
        "clusters": list(clusters),
        "shards": [{"replicas": ["clickhouse://127.0.0.1:9000"]}],
    }


def test_a_region_without_feeds_has_the_ledger_of_its_own_aggregate():
    found = owners_of(appliance({}), "east")
    assert list(found) == [EAST]
    assert sorted(found[EAST]) == [f"sluice.west.east.{number}" for number in range(4)]
    assert {each.name for each in found[EAST].values()} == {"route west>east"}
    assert all(isinstance(each.rules, LedgerRules) for each in found[EAST].values())


def test_the_intents_of_a_feed_are_in_each_cluster_that_it_reads():
    feeds = {"flights": feed("east", "west regional", "east regional")}
    found = owners_of(appliance(feeds), "east")
    assert list(found) == [EAST, "east regional", "west regional"]
    groups = [f"sluice.feed.flights.{number}" for number in range(4)]
    assert sorted(found[ClusterName.regional("west")]) == groups
    assert all(
        isinstance(each.rules, IntentRules) for each in found[ClusterName.regional("west")].values()
    )


def test_a_feed_of_the_aggregate_stands_beside_the_ledger():
    found = owners_of(appliance({"flights": feed("east", EAST)}), "east")
    assert {each.name for each in found[EAST].values()} == {"feed flights", "route west>east"}


def test_feeds_of_other_regions_are_left_to_their_own_verifiers():
    feeds = {"flights": feed("west", "west regional")}
    assert list(owners_of(appliance(feeds), "east")) == [EAST]


def test_a_region_without_routes_and_feeds_has_nothing_to_judge():
    assert owners_of(appliance({}, routes=("east>west",)), "east") == {}
    with pytest.raises(UnknownRegion):
        owners_of(appliance({}), "north")


def test_a_subject_is_named_for_people():
    subject = Subject(EAST, "feed flights", "departures", 3)
    assert str(subject) == "feed flights departures-3 in east aggregate"
