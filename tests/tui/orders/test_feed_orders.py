"""Orders to the loaders of a feed, with a client that records what is written."""

import re
from pathlib import Path

import pytest

from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import FeedPartition
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.object_feed import ObjectFeed
from replicator.config.schema_folder import SchemaFolder
from replicator.orders.flaws import flaw
from replicator.orders.order_records import Freeze, RefreshSchema, SkipReplay, key_of
from tests.replicator.config.any_feed import ANY_FEED, ANY_UPSERT_TABLE
from tests.tui.balance_records import NOW_MS
from tests.tui.recording_client import RecordingClient, orders_of
from tui.facts.feed_scope import PendingBlock, Scope
from tui.orders.feed_orders import check_scope, freeze, refresh_schema, resume, skip_replay
from tui.orders.order_checks import OrderRefused
from tui.orders.region_orders import Terms

WEST = "west regional"
FEED = ClickHouseFeed.model_validate(
    {
        **ANY_FEED,
        "name": "flights",
        "clusters": [WEST, "east regional"],
        "shards": [{"topics": ["flights", "clicks", "status"], "replicas": ["clickhouse://h"]}],
        "tables": {"status": ANY_UPSERT_TABLE},
    }
)
TERMS = Terms("merge", "2h")
SAID = {"route": "flights", "at_ms": 5, "who": "bob@ops", "why": "why"}


def frozen(**fields):
    return Freeze(**SAID, **fields)


def test_a_freeze_is_written_with_what_it_names():
    client = RecordingClient()
    scope = Scope(WEST, "flights", 3, "departures")
    (order,) = freeze(orders_of(client), FEED, scope, TERMS).written
    assert client.written == [order]
    assert order == Freeze(
        route="flights",
        at_ms=NOW_MS,
        who="ann@ops",
        why="merge",
        until_ms=NOW_MS + 7_200_000,
        cluster=WEST,
        topic="flights",
        partition=3,
        table="departures",
    )
    assert flaw(order) is None


@pytest.mark.parametrize("action", [lambda *given: freeze(*given, TERMS), resume])
@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (Scope(cluster="west aggregate"), "flights does not read west aggregate; it reads west"),
        (Scope(partition=1), "name the topic"),
        (Scope(topic="sales"), "no shard of feed flights has the topic sales"),
        (Scope(topic="sluice.balance"), "no shard"),
        (Scope(table="status__rows"), "status__rows is part of the upsert table status"),
    ],
)
def test_a_scope_that_the_feed_does_not_have_is_refused(action, scope, text):
    client = RecordingClient()
    with pytest.raises(OrderRefused, match=text):
        action(orders_of(client), FEED, scope)
    assert client.writes == 0


@pytest.mark.parametrize("scope", [Scope(topic="status"), Scope(table="status")])
def test_an_upsert_table_can_be_frozen_and_has_no_loader(scope):
    (order,) = freeze(orders_of(RecordingClient()), FEED, scope, TERMS).written
    assert isinstance(order, Freeze) and (order.topic, order.table) == (scope.topic, scope.table)
    with pytest.raises(OrderRefused, match="which no loader loads"):
        check_scope(FEED, scope)


FREEZES = {
    "flights": frozen(topic="flights"),
    "flights-1": frozen(topic="flights", partition=1),
    "west clicks": frozen(cluster=WEST, topic="clicks"),
    "departures": frozen(table="departures"),
}


@pytest.mark.parametrize(
    ("scope", "gone"),
    [
        (Scope(), {"flights", "flights-1", "west clicks", "departures"}),
        (Scope(topic="flights"), {"flights", "flights-1"}),
        (Scope(cluster=WEST), {"west clicks"}),
        (Scope(table="departures"), {"departures"}),
        (Scope(cluster="east regional"), set()),
    ],
)
def test_every_freeze_within_the_scope_is_taken_back(scope, gone):
    client = RecordingClient(*FREEZES.values())
    change = resume(orders_of(client), FEED, scope)
    assert set(change.taken_back) == {FREEZES[name] for name in gone}
    assert set(client.deleted) == {key_of(each) for each in change.taken_back}


def test_a_part_of_what_is_frozen_as_a_whole_cannot_be_resumed():
    client = RecordingClient(FREEZES["flights"], FREEZES["flights-1"])
    with pytest.raises(OrderRefused, match="a wider freeze holds"):
        resume(orders_of(client), FEED, Scope(topic="flights", partition=1))
    assert client.writes == 0


def test_a_freeze_of_another_feed_stays():
    other = Freeze(**{**SAID, "route": "other"})
    client = RecordingClient(other)
    assert resume(orders_of(client), FEED, Scope()).taken_back == ()
    assert client.writes == 0


def test_columns_are_read_again_of_one_table_or_of_all():
    client = RecordingClient()
    refresh_schema(orders_of(client), FEED, "departures", Terms("altered"))
    refresh_schema(orders_of(client), FEED, None, Terms("altered"))
    assert [(type(each), each.table, each.why) for each in client.written] == [
        (RefreshSchema, "departures", "altered"),
        (RefreshSchema, None, "altered"),
    ]


def test_each_block_is_skipped_by_its_offsets_for_a_day():
    client = RecordingClient()
    block = TableRange(10, 20, 7, "h", 5)
    blocks = [PendingBlock(FeedPartition(WEST, "flights", 3), "departures", block)]
    (order,) = skip_replay(orders_of(client), FEED, blocks, Terms("lost disk")).written
    assert isinstance(order, SkipReplay) and client.written == [order]
    assert order.subject == (WEST, "flights", 3, "departures")
    assert (order.begin, order.end, order.until_ms) == (10, 20, NOW_MS + 86_400_000)
    assert flaw(order) is None
    assert skip_replay(orders_of(client), FEED, [], Terms("x")).written == ()
    assert client.writes == 1


LAKE = ObjectFeed(
    name="lake",
    kind="s3",
    region="east",
    clusters=("east aggregate",),
    bucket="air",
    file="avro",
    format="avro",
    schemas=SchemaFolder(Path("schemas"), {"7.avsc": b'"int"'}),
    partition_by="field",
    fields=("carrier",),
)


@pytest.mark.parametrize(
    ("scope", "topic", "table"),
    [
        (Scope(table="carrier=UA"), None, "carrier=UA"),
        (Scope(table="topics/flights/carrier=UA/"), "flights", "carrier=UA"),
        (Scope(topic="flights", table="carrier=UA#7"), "flights", "carrier=UA#7"),
    ],
)
def test_a_folder_of_objects_is_frozen_by_the_name_that_listings_show(scope, topic, table):
    (order,) = freeze(orders_of(RecordingClient()), LAKE, scope, TERMS).written
    assert (order.topic, order.table) == (topic, table)


@pytest.mark.parametrize("action", [lambda *given: freeze(*given, TERMS), resume])
@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (Scope(table="UA"), "feed lake has no folder UA; its folders are carrier=..."),
        (Scope(topic="t", table="topics/flights/carrier=UA"), "is of the topic flights, and not t"),
        (Scope(table="sluice.balance/carrier=UA"), "takes no topic sluice.balance"),
    ],
)
def test_a_folder_that_a_feed_does_not_make_is_refused(action, scope, text):
    client = RecordingClient()
    with pytest.raises(OrderRefused, match=re.escape(text)):
        action(orders_of(client), LAKE, scope)
    assert client.writes == 0


def test_a_folder_is_resumed_with_all_its_versions_and_one_of_them_alone():
    of_lake = {**SAID, "route": "lake"}
    whole, one, old = (
        Freeze(**of_lake, table=each) for each in ("carrier=UA", "carrier=UA#7", "by-hand")
    )
    client = RecordingClient(one, old)
    change = resume(orders_of(client), LAKE, Scope(table="carrier=UA"))
    assert change.taken_back == (one,)
    client = RecordingClient(whole, one)
    with pytest.raises(OrderRefused, match="a wider freeze holds"):
        resume(orders_of(client), LAKE, Scope(table="carrier=UA#7"))
    # An order of a name that is none can be taken back.
    client = RecordingClient(old)
    assert resume(orders_of(client), LAKE, Scope(table="by-hand")).taken_back == (old,)
