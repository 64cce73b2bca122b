"""Output of a snapshot, for people and programs."""

import json
from dataclasses import replace

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.topics.topic_plan import Note, State, TopicPlan, TopicStatus
from replicator.notices.condition import Condition
from replicator.notices.daemon_card import DaemonCard
from tests.tui.state.test_snapshot import ENTRY, FACTS, LOSS, NOW, PARTITION, ROUTE
from tui.cli.views.snapshot_view import as_text, as_values
from tui.state.snapshot import Notices, RouteFacts, Snapshot, snapshot

SECOND = TopicPartition("orders", 1)
AWAY = Route("north", "east")
NOTE = Note(State.TARGET_HAS_MORE, "4 partitions, the sources have 2: carried on")


def example() -> Snapshot:
    entries: dict[TopicPartition, Entry] = {PARTITION: ENTRY, SECOND: ENTRY.park(LOSS)}
    facts = RouteFacts(ROUTE, entries, {PARTITION: 100, SECOND: 70}, FACTS.reports)
    away = RouteFacts(AWAY, None, None, problems=("north regional: no answer",))
    status = TopicStatus("orders", (ROUTE,), (NOTE,))
    plan = TopicPlan((), (status,), (), unknown=(AWAY,))
    waits = Condition(
        kind="source-silent",
        who="replicate east",
        text="no answer",
        since_ms=940_000,
        cluster="north regional",
    )
    paused = Condition(
        kind="paused",
        who="replicate east",
        text="paused by ann@ops: load test",
        since_ms=950_000,
        route="west>east",
        topic="orders",
        partition=1,
    )
    card = DaemonCard(
        role="replicate", region="east", version="1.0", host="repl-c", pid=47, since_ms=900_000
    )
    notices = {"east": Notices((waits, paused, replace(paused, kind="parked")), (card,))}
    return snapshot([facts, away], {"east": plan}, notices, NOW)


def test_a_table_of_topics(assert_snapshot) -> None:
    assert_snapshot(as_text(example()), "topics")


def test_a_table_of_partitions(assert_snapshot) -> None:
    assert_snapshot(as_text(example(), by_partition=True), "partitions")


def test_values_are_versioned_and_null_where_unknown() -> None:
    values = json.loads(json.dumps(as_values(example())))
    assert values["schema_version"] == 2
    assert values["taken_at"] == "1970-01-01T00:16:40+00:00"
    assert values["problems"] == ["north regional: no answer"]
    west, north = values["routes"]
    assert north == {
        "route": "north>east",
        "denied_topics": 0,
        "problems": ["north regional: no answer"],
        "topics": None,
    }
    told = values["notices"]["east"]
    assert [each["kind"] for each in told["conditions"]] == ["source-silent", "paused", "parked"]
    assert told["daemons"][0]["host"] == "repl-c"
    (topic,) = west["topics"]
    assert (topic["states"], topic["lag_records"]) == (["target_has_more"], 10)
    assert topic["records_per_second"] is None
    assert topic["partitions"][1]["carrier"] is None
    assert topic["partitions"][0]["mirrored_to"] == 90
