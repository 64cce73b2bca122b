"""Findings about upsert tables: their types and topics, and what was appended before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aggregator.intents.intent import Custody, Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import FeedPartition
from aggregator.upsert.table_creation import ServerFinding, TableCreation
from replicator.config.feed_settings import ClickHouseFeed
from tests.replicator.config.any_feed import ANY_FEED, ANY_UPSERT_TABLE
from tests.tui.facts.test_feed_findings import SCHEMA
from tests.tui.facts.test_feed_findings import TABLE as APPENDED
from tui.facts.feed_findings import Finding, ReplicaFacts, ShardFacts, findings
from tui.facts.upsert_findings import (
    resting_findings,
    store_findings,
    topic_findings,
    type_findings,
)

WHERE = "feeds.feed.tables"


def feed(**tables: dict[str, Any]) -> ClickHouseFeed:
    given = {name: {**ANY_UPSERT_TABLE, **keys} for name, keys in tables.items()}
    return ClickHouseFeed.model_validate({**ANY_FEED, "tables": given})


STATUS = feed(status={})


def test_a_type_that_cannot_be_loaded_is_named_without_a_server() -> None:
    columns = {
        "id": "UInt64",
        "a": "Tuple(x Variant(String))",
        "b": "Array(JSON)",
        "c": "FixedString(0)",
    }
    found = {each.where: each.text for each in type_findings(feed(status={"columns": columns}))}
    assert list(found) == [f"{WHERE}.status.columns.{name}" for name in "abc"]
    assert "x Variant(String)" in found[f"{WHERE}.status.columns.a"]
    assert list(type_findings(STATUS)) == []


def test_a_table_without_a_topic_is_remarked() -> None:
    expected = [Finding(f"{WHERE}.status", "no cluster has a topic of it", is_mistake=False)]
    assert list(topic_findings(STATUS, ["other"])) == expected
    assert list(topic_findings(STATUS, ["other", "status"])) == []
    assert list(topic_findings(STATUS, None)) == []


def test_a_shard_of_upsert_tables_alone_does_not_lack_topics() -> None:
    assert list(findings(ShardFacts(STATUS, 0, {}, ()), 1.0)) == []
    (found,) = findings(ShardFacts(feed(), 0, {}, ()), 1.0)
    assert "no cluster has a topic" in found.text


def test_a_topic_that_two_tables_take_is_named() -> None:
    both = feed(a={"topics": ["s.*1"]}, b={"topics": ["s[0-9]+"]})
    (found,) = topic_findings(both, ["s1", "sx1", "s2"])
    assert found.where == f"{WHERE}.a" and "the topic s1," in found.text
    assert found.is_mistake


def test_a_topic_that_would_be_appended_to_a_table_of_ours_is_named() -> None:
    keeping = feed(now={"topics": ["status"]})
    found = list(topic_findings(keeping, ["status", "now", "now__rows", "now__log"]))
    assert [each.where for each in found] == [f"{WHERE}.now"] * 2
    assert all(each.is_mistake for each in found)


def test_a_topic_that_was_appended_before_is_remarked_with_what_becomes_of_it() -> None:
    rests = Intent(custody=Custody.RELEASED, offset=7, reference=7, transactional_id="x")
    (found,) = resting_findings(STATUS, {FeedPartition("c", "status", 0): rests})
    assert not found.is_mistake
    assert "1 intent of it rest, until they expire" in found.text


def test_blocks_of_a_topic_that_nobody_sends_again_are_a_mistake() -> None:
    under_way = Intent(
        custody=Custody.HELD,
        offset=7,
        reference=7,
        transactional_id="x",
        tables={"status": TableRange(begin=7, end=9)},
    )
    intents = {FeedPartition("c", "status", number): under_way for number in (0, 1)}
    (found,) = resting_findings(STATUS, intents)
    assert found.is_mistake
    assert "2 blocks may not be stored there" in found.text


TABLE = STATUS.tables["status"]
NAMES = ("status__rows", "status__updates", "status__ticks", "status")


def of_store(look: TableCreation, *, silent: tuple[str, ...] = ()) -> list[Finding]:
    return list(store_findings(TABLE, "air", ["one", "two"], look, silent))


def test_tables_that_a_server_has_as_the_settings_say_are_no_finding() -> None:
    present = [(server, name) for server in ("one", "two") for name in NAMES]
    assert of_store(TableCreation(present=present)) == []


def test_a_replica_that_no_server_holds_is_named_and_is_no_mistake() -> None:
    present = [(server, name) for server in ("one", "two") for name in NAMES]
    abandoned = [ServerFinding("one", "status__rows", "has in ZooKeeper a replica r1-0a")]
    [found] = of_store(TableCreation(present=present, abandoned=abandoned))
    assert (found.where, found.text, found.is_mistake) == (
        "air.status__rows",
        "has in ZooKeeper a replica r1-0a",
        False,
    )


def test_tables_that_a_server_lacks_are_named_with_the_mend() -> None:
    present = [("one", name) for name in NAMES] + [("two", "status__rows")]
    (found,) = of_store(TableCreation(present=present))
    assert found.where == "two" and found.is_mistake
    assert found.text.startswith("status__updates, status__ticks, status of air are missing")
    assert "sluice upsert create" in found.text


def test_differences_of_tables_are_named_and_are_not_missing_as_well() -> None:
    present = [(server, name) for server in ("one", "two") for name in NAMES[:3]]
    mistakes = [
        ServerFinding("one", "status__rows", "lacks the column at"),
        *(ServerFinding(server, "status", "is a MergeTree") for server in ("one", "two")),
    ]
    found = of_store(TableCreation(present=present, mistakes=mistakes))
    assert [(each.where, each.text) for each in found] == [
        ("air.status__rows", "lacks the column at (on one)"),
        ("air.status", "is a MergeTree (on one)"),
        ("air.status", "is a MergeTree (on two)"),
    ]


def test_a_server_that_refuses_the_look_is_named_unless_its_silence_is_known() -> None:
    present = [("one", name) for name in NAMES]
    look = TableCreation(present=present, failures=[ServerFinding("two", "", "no database")])
    (found,) = of_store(look)
    assert found.where == "two" and "cannot be looked at: no database" in found.text
    assert of_store(look, silent=("two",)) == []


def test_tables_that_keep_an_upsert_table_are_none_that_loaders_load() -> None:
    """Also while a cluster does not list its topics, so that all tables are checked."""
    names = ("flights", "status__rows", "status__updates", "status__ticks")
    tables = {name: replace(APPENDED, schema=replace(SCHEMA, table=name)) for name in names}
    facts = ShardFacts(STATUS, 0, None, [ReplicaFacts("one", (18, 16, 1), tables)])
    assert facts.tables == ("flights",)
