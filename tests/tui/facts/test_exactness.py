"""Diagnoses: what happened to an installation, and what can happen, is named with its repair."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from aggregator.objects.told_object import ToldObject
from aggregator.store.table_engine import TableEngine
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.client.progress_expiry import ProgressExpiry
from tui.facts.exactness import (
    COMPARE,
    STILL_SECONDS,
    DoubledRows,
    EntryFacts,
    OwnerFacts,
    Verdict,
    clock,
    doubled,
    engine,
    expiry,
    letter_limits,
    letters,
    loader_clocks,
    may_stand_still,
    overlapping,
    recreated,
    standing_still,
)

NOW_MS = 1_000_000_000_000
DAY_MS = 86_400_000
WEEK = ProgressExpiry(7 * 86_400.0, is_known=True)
OLD, NEW = UUID(int=1), UUID(int=2)


def entry(partition: int = 0, **fields) -> EntryFacts:
    return EntryFacts(
        **{"topic": "t", "partition": partition, "committed_ms": NOW_MS, "topic_id": OLD, **fields}
    )


def owner(*entries: EntryFacts, name: str = "feed f", **fields) -> OwnerFacts:
    given = {"expiry": WEEK, "topic_ids": {"t": OLD}, **fields}
    return OwnerFacts(name, "east aggregate", entries, **given)


def test_fresh_entries_of_topics_that_are_still_the_same_have_no_diagnosis():
    facts = owner(entry(0), entry(1))
    assert [*expiry(facts, NOW_MS), *recreated(facts), *letters(facts, {})] == []


def test_an_entry_that_is_gone_while_its_topic_is_there_has_expired():
    facts = owner(entry(0), entry(1, committed_ms=None, topic_id=None))
    (found,) = expiry(facts, NOW_MS)
    assert found.verdict is Verdict.HAPPENED
    assert found.text.startswith("t-1: the entry is gone (offsets.retention.minutes is 10080)")
    assert "accept-loss" in found.repair


def test_an_entry_that_is_gone_with_its_topic_is_no_diagnosis():
    assert list(expiry(owner(entry(committed_ms=None), topic_ids={}), NOW_MS)) == []


@pytest.mark.parametrize(("days", "count"), [(3.4, 0), (3.6, 1), (6.9, 1), (8, 1)])
def test_an_entry_that_nobody_renewed_for_half_its_retention_is_told(days: float, count: int):
    found = list(expiry(owner(entry(committed_ms=int(NOW_MS - days * DAY_MS))), NOW_MS))
    assert [each.verdict for each in found] == [Verdict.POSSIBLE] * count


def test_a_route_is_started_by_another_daemon_and_has_another_command():
    facts = owner(
        entry(committed_ms=NOW_MS - 4 * DAY_MS),
        entry(1, committed_ms=None),
        name="route west>east",
    )
    gone, old = expiry(facts, NOW_MS)
    assert gone.repair == "sluice audit, then sluice accept-loss"
    assert old.repair.startswith("start sluice replicate,")


def test_the_tick_of_an_upsert_table_has_no_adoption_and_is_renewed_by_the_aggregator():
    (found,) = expiry(owner(entry(committed_ms=None), name="table f.t"), NOW_MS)
    assert "adopted" not in found.text and found.repair == COMPARE
    (found,) = expiry(owner(entry(committed_ms=NOW_MS - 6 * DAY_MS), name="table f.t"), NOW_MS)
    assert "start sluice aggregate" in found.repair


def test_a_topic_with_another_id_than_its_entry_names_was_created_anew():
    (found,) = recreated(owner(entry(0), entry(1), topic_ids={"t": NEW}))
    assert (found.verdict, found.text.split(":")[0]) == (Verdict.POSSIBLE, "t-0, t-1")


def test_accepted_losses_of_feeds_make_rows_doubtful_and_those_of_routes_do_not():
    (found,) = recreated(owner(entry(losses=1)))
    assert "--rows" in found.repair
    assert list(recreated(owner(entry(losses=1), name="route west>east"))) == []
    assert list(recreated(owner(entry(losses=1, incarnation=7)))) == []


def test_dead_letters_that_were_counted_and_are_not_in_their_topic_are_lost():
    facts = owner(entry(0, dead_letters=15_000), entry(1, dead_letters=3))
    (found,) = letters(facts, {("t", 0): 7_599, ("t", 1): 3})
    assert found.verdict is Verdict.HAPPENED
    assert "t-0: of 15,000 counted dead letters, 7,599 are in" in found.text


def test_more_dead_letters_than_counted_are_no_diagnosis():
    """A block that is decoded again by other columns repeats its dead letters."""
    assert list(letters(owner(entry(dead_letters=1)), {("t", 0): 2})) == []


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ("max.message.bytes", "1048588"),
        ("retention.ms", "604800000"),
        ("retention.bytes", "1000"),
        ("cleanup.policy", "compact,delete"),
    ],
)
def test_a_topic_that_may_refuse_or_delete_dead_letters_is_named(config: str, value: str):
    sound = {"max.message.bytes": "16777216", "retention.ms": "-1", "cleanup.policy": "delete"}
    topic = Topic("sluice.dead.f", NEW, 4, Configs(sound))
    assert list(letter_limits("east", topic, 16 << 20)) == []
    spoiled = replace(topic, configs=Configs({**sound, config: value}))
    (found,) = letter_limits("east", spoiled, 16 << 20)
    assert found.where == "topic sluice.dead.f in east"


@pytest.mark.parametrize(("ahead", "side"), [(15.0, "15 s ahead of"), (-40.0, "40 s behind")])
def test_a_clock_that_differs_is_named(ahead: float, side: str):
    (found,) = clock("one:9000", ahead)
    assert side in found.text
    assert list(clock("one:9000", ahead / 100)) == []


def test_an_engine_that_takes_rows_away_is_named_with_its_repair():
    (found,) = engine("air.flights", TableEngine("ReplicatedSummingMergeTree"))
    assert "its merges sum rows up" in found.text
    assert found.repair.startswith("load a ReplicatedMergeTree")
    assert list(engine("air.flights", TableEngine("MergeTree"))) == []


def test_doubled_rows_are_counted_with_their_offsets():
    (found,) = doubled("air.t on one", [DoubledRows("east aggregate", "t", 3, 200, 200, 7, 206)])
    assert "t-3 of east aggregate: 200 coordinates" in found.text
    assert found.text.endswith("200 rows too many, offsets 7 to 206")


def told(begin: int, end: int, folder: str = "t/partition=0", **fields) -> ToldObject:
    given = {
        "key": f"{folder}/t+0+{begin}", "cluster": "east", "topic": "t", "partition": 0,
        "begin": begin, "end": end, "records": end - begin, "left_out": 0, "size_bytes": 1,
        "crc32c": 0, "first_ms": 0, "last_ms": 0, "schema": "", "digest": "", "sealed_at_ms": 0,
        "told_at_ms": 0,
    }  # fmt: skip
    return ToldObject(**{**given, **fields})


def test_objects_of_a_folder_that_share_offsets_are_named():
    (found,) = overlapping("s3://lake", [told(10, 20), told(0, 11)])
    assert found.verdict is Verdict.HAPPENED
    assert "share offsets from 10 on" in found.text


def test_objects_of_different_folders_or_logs_and_empty_ranges_may_share_offsets():
    objects = [
        told(0, 11),
        told(10, 20, folder="t/hour=1"),
        told(5, 8, left_out=3),
        told(11, 30),
        told(12, 20, incarnation=7),
    ]
    assert list(overlapping("s3://lake", objects)) == []


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 0), (1.9, 0), (2.1, 1), (15.0, 1)])
def test_a_loader_whose_clock_was_ahead_of_the_brokers_is_named(seconds: float, count: int):
    found = list(loader_clocks(owner(entry(ahead_seconds=seconds), entry(1))))
    assert [each.verdict for each in found] == [Verdict.POSSIBLE] * count
    assert all(f"t-0: the loader's clock was {seconds:.0f} s ahead" in each.text for each in found)


STILL_MS = int(STILL_SECONDS * 1000)


@pytest.mark.parametrize(
    ("fields", "is_asked"),
    [
        ({}, True),
        ({"committed_ms": NOW_MS - STILL_MS + 1}, False),
        ({"committed_ms": None}, False),
        ({"is_parked": True}, False),
        ({"topic_id": NEW}, False),
        ({"topic_id": None}, False),
        ({"topic": "gone"}, False),
    ],
)
def test_records_are_looked_for_behind_old_entries_of_partitions_that_are_read(fields, is_asked):
    given = entry(**{"committed_ms": NOW_MS - STILL_MS, **fields})
    assert may_stand_still(owner(given), NOW_MS, 1.0) == ([given] if is_asked else [])


def test_a_partition_whose_loader_renews_it_seldom_does_not_stand_still():
    """Its object is open for hours, and so is what is behind its entry."""
    given = entry(committed_ms=NOW_MS - 3_500_000)
    assert may_stand_still(owner(given), NOW_MS, 3600.0) == []
    assert may_stand_still(owner(given), NOW_MS, 3500.0) == [given]


def test_a_partition_whose_records_nobody_loads_stands_still():
    old = entry(3, committed_ms=NOW_MS - 2 * STILL_MS)
    facts = owner(entry(), old)
    assert list(standing_still(facts, [], NOW_MS)) == []
    (found,) = standing_still(facts, [old], NOW_MS)
    assert found.verdict is Verdict.POSSIBLE
    assert found.text.startswith("t-3: records wait behind the committed offset")
    assert "for 20 min" in found.text
