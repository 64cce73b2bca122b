"""Status of feeds: unknown stays unknown, and the age of blocks is compared with the window."""

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import TOO_MANY_PARTS, FeedPartition, LoaderReport, TableReport
from replicator.config.feed_settings import ClickHouseFeed
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind
from replicator.notices.condition import Condition
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import Freeze, RefreshSchema
from tests.replicator.config.any_feed import ANY_FEED, ANY_UPSERT_TABLE
from tests.tui.facts.test_anomaly import anomaly
from tui.facts.feed_status import FeedFacts, FeedStatus, TableState, conditions_of, feed_status
from tui.facts.snapshot import Snapshot

SNAPSHOTS = TypeAdapter(Snapshot)
NOW_MS = 1_800_000_000_000
CLUSTER = "region regional"
FEED = ClickHouseFeed.model_validate(
    {
        **ANY_FEED,
        "name": "flights",
        "shards": [
            {"topics": ["flights"], "replicas": ["clickhouse://one"], "database": "air"},
            {"topics": ["clicks"], "replicas": ["clickhouse://two"]},
        ],
    }
)
FIRST, SECOND = FeedPartition(CLUSTER, "flights", 0), FeedPartition(CLUSTER, "flights", 1)
INTENT = Intent(
    custody=Custody.HELD,
    offset=90,
    tables={
        "flights": TableRange(90, 120, 30, "h", NOW_MS - 20_000),
        "other": TableRange(95, 95),
    },
    reference=80,
    dead_letters=4,
    transactional_id="sluice.feed.flights.0",
)
REPORT = LoaderReport(
    tables={"flights": TableReport("loading", NOW_MS - 20_000)},
    feed="flights",
    loader=2,
    cluster=CLUSTER,
    topic="flights",
    partition=0,
    mode="consume",
    position=150,
    offset=120,
    buffered_bytes=3 << 20,
    rows_per_second=1000.0,
    lag_seconds=1.5,
    dead_letters=3,
    at_ms=NOW_MS - 1000,
)
TABLE = TableState(
    parts=12,
    window_blocks=100,
    window_seconds_max=None,
    blocks_per_second=2.0,
    has_coordinates=True,
)
FACTS = FeedFacts(
    feed=FEED,
    partitions={CLUSTER: (FIRST, SECOND)},
    intents={CLUSTER: {FIRST: INTENT}},
    ends={FIRST: 160, SECOND: 7},
    reports={FIRST: REPORT},
    tables={0: {"flights": TABLE}, 1: None},
    orders=FeedOrders(feed="flights"),
)


def status_of(facts: FeedFacts) -> FeedStatus:
    return feed_status([facts], NOW_MS)


def first_of(facts: FeedFacts):
    return status_of(facts).feeds[0].partitions[0]


def test_a_partition_has_what_intent_log_and_loader_say():
    found = first_of(FACTS)
    assert (found.committed, found.end, found.mode, found.loader) == (90, 160, "consume", 2)
    assert (found.buffered_bytes, found.dead_letters, found.rows_per_second) == (3 << 20, 4, 1000.0)
    assert (found.custody, found.parked, found.frozen, found.shard) == ("held", None, None, 0)


def test_lag_counts_from_the_report_where_it_is_ahead_of_the_intent():
    assert first_of(FACTS).lag_records == 40
    assert first_of(replace(FACTS, reports={})).lag_records == 70
    ahead = replace(INTENT, offset=130, tables={})
    assert first_of(replace(FACTS, intents={CLUSTER: {FIRST: ahead}})).lag_records == 30


def test_dead_letters_are_those_of_the_intent_whether_a_loader_reports_or_not():
    assert first_of(FACTS).dead_letters == 4
    assert first_of(replace(FACTS, reports=None)).dead_letters == 4
    assert first_of(replace(FACTS, intents={})).dead_letters is None


def test_a_partition_without_intent_and_report_is_unknown_and_not_zero():
    found = status_of(FACTS).feeds[0].partitions[1]
    assert found.end == 7
    unknown = (found.committed, found.lag_records, found.mode, found.buffered_bytes, found.blocks)
    assert unknown == (None,) * 5
    assert (found.custody, found.intent_age_seconds, found.window_used) == ("no intent", None, None)
    assert found.parked_count == 0


def test_custody_and_parking_are_unknown_where_no_intents_were_read():
    found = first_of(replace(FACTS, intents={}, reports={}))
    assert (found.custody, found.parked_count) == (None, None)
    # A loader that works on it tells that it is not parked.
    reported = first_of(replace(FACTS, intents={}))
    assert (reported.custody, reported.parked_count) == (None, 0)


def test_the_end_is_that_of_whoever_saw_the_source_later():
    ahead = replace(REPORT, source_end=9000)
    found = first_of(replace(FACTS, reports={FIRST: ahead}))
    assert (found.end, found.lag_records) == (9000, 8880)
    behind = replace(REPORT, source_end=130)
    assert first_of(replace(FACTS, reports={FIRST: behind})).lag_records == 40


def test_ends_that_are_too_old_tell_no_lag_unless_the_loader_sees_the_source():
    stale = replace(FACTS, stale_clusters=frozenset({CLUSTER}))
    assert (first_of(stale).end, first_of(stale).lag_records) == (160, None)
    seeing = {FIRST: replace(REPORT, source_end=170)}
    assert first_of(replace(stale, reports=seeing)).lag_records == 50


def test_an_old_report_says_nothing():
    stale = replace(REPORT, at_ms=NOW_MS - 16_000)
    found = first_of(replace(FACTS, reports={FIRST: stale}))
    assert (found.mode, found.loader, found.buffered_bytes) == (None, None, None)
    assert found.committed == 90


def test_only_blocks_that_may_have_been_sent_have_an_age():
    found = first_of(FACTS)
    (block,) = found.blocks
    assert (block.table, block.begin, block.end, block.records) == ("flights", 90, 120, 30)
    assert found.intent_age_seconds == 20.0
    none = first_of(replace(FACTS, intents={CLUSTER: {FIRST: replace(INTENT, tables={})}}))
    assert (none.blocks, none.intent_age_seconds) == ((), None)


def test_a_block_that_waits_for_fewer_parts_is_still_on_its_way():
    held = replace(REPORT, tables={"flights": TableReport(TOO_MANY_PARTS, NOW_MS - 20_000)})
    assert [each.table for each in first_of(replace(FACTS, reports={FIRST: held})).blocks] == [
        "flights"
    ]


def test_a_block_that_its_loader_has_stored_is_no_longer_on_its_way():
    stored = replace(REPORT, tables={})
    assert first_of(replace(FACTS, reports={FIRST: stored})).blocks == ()
    older = replace(stored, at_ms=INTENT.tables["flights"].sealed_at_ms - 1)
    assert first_of(replace(FACTS, reports={FIRST: older})).blocks != ()


@pytest.mark.parametrize(
    ("table", "used"),
    [
        (TABLE, 0.4),
        (replace(TABLE, blocks_per_second=10.0), 2.0),
        (replace(TABLE, blocks_per_second=0.0), 0.0),
        (replace(TABLE, blocks_per_second=0.0, window_seconds_max=40.0), 0.5),
        (replace(TABLE, window_seconds_max=200.0), 0.4),
        (replace(TABLE, window_blocks=0), 1.0),
    ],
)
def test_the_age_of_a_block_is_a_part_of_the_window_at_the_present_rate(table, used):
    found = first_of(replace(FACTS, tables={0: {"flights": table}}))
    assert found.window_used == pytest.approx(used)


@pytest.mark.parametrize("tables", [{}, {0: None}, {0: {}}, {1: {"flights": TABLE}}])
def test_the_window_of_a_table_that_no_replica_showed_is_unknown(tables):
    found = first_of(replace(FACTS, tables=tables))
    assert (found.intent_age_seconds, found.window_used) == (20.0, None)


def test_a_parked_partition_says_why_whoever_knows_it():
    loss = Loss(LossKind.SOURCE_TRUNCATED, 5, 9, "gone")
    parked = {CLUSTER: {FIRST: INTENT.park(loss)}}
    assert first_of(replace(FACTS, intents=parked)).parked == str(loss)
    assert first_of(replace(FACTS, intents=parked)).custody == "parked"
    told = first_of(replace(FACTS, reports={FIRST: replace(REPORT, parked="no intent")}))
    assert (told.custody, told.parked) == ("parked", "no intent")


def test_a_freeze_is_named_with_its_operator_until_it_ends():
    freeze = Freeze(
        route="flights", at_ms=1, who="ann@ops", why="merge", partition=0, topic="flights",
        until_ms=NOW_MS + 1,
    )  # fmt: skip
    facts = replace(FACTS, orders=FeedOrders(feed="flights", freezes=(freeze,)))
    feed = status_of(facts).feeds[0]
    assert [each.frozen for each in feed.partitions] == ["by ann@ops: merge", None]
    assert feed.orders == (freeze,)
    (later,) = feed_status([facts], NOW_MS + 1).feeds
    assert later.partitions[0].frozen is None


def test_a_cluster_or_shard_without_an_answer_is_named_as_unknown():
    feed = status_of(replace(FACTS, partitions={}, problems=("no answer",))).feeds[0]
    assert (feed.unknown_clusters, feed.partitions) == ((CLUSTER,), ())
    assert feed.shards[1].tables is None
    assert [each.table for each in feed.shards[0].tables] == ["flights"]
    assert status_of(replace(FACTS, orders=None)).feeds[0].orders is None


def test_a_problem_of_several_feeds_is_told_once():
    facts = replace(FACTS, problems=("no answer",))
    assert feed_status([facts, facts], NOW_MS).problems == ("no answer",)


def test_conditions_of_a_feed_are_its_own_and_those_of_its_aggregator():
    own = Condition(kind="parked", who="loader 0", text="x", since_ms=1, feed="flights")
    all_feeds = replace(own, feed="", who=f"aggregate {FEED.region}", cluster=CLUSTER)
    others = [
        replace(own, feed="other"),
        replace(all_feeds, who=f"replicate {FEED.region}"),
        replace(all_feeds, cluster="elsewhere regional"),
    ]
    found = conditions_of(FEED, [own, all_feeds, *others])
    assert found == (own, all_feeds)
    assert status_of(replace(FACTS, conditions=found)).feeds[0].conditions == found
    assert status_of(FACTS).feeds[0].conditions is None


def test_a_feed_goes_to_json_and_back_with_its_orders_and_findings():
    orders = FeedOrders(
        feed="flights",
        freezes=(Freeze(route="flights", at_ms=1, who="ann@ops", why="merge", topic="flights"),),
        refreshes=(RefreshSchema(route="flights", at_ms=2, who="ann@ops"),),
    )
    (view,) = status_of(replace(FACTS, orders=orders, conditions=())).feeds
    whole = Snapshot(taken_at=1.0, feeds=(replace(view, findings=(anomaly(),)),))
    assert SNAPSHOTS.validate_json(SNAPSHOTS.dump_json(whole)) == whole


def test_tables_of_upsert_tables_are_none_of_the_loaders():
    shard = {"topics": [".*"], "replicas": ["clickhouse://one"]}
    feed = ClickHouseFeed.model_validate(
        {**ANY_FEED, "shards": [shard], "tables": {"status": ANY_UPSERT_TABLE}}
    )
    names = ("flights", "status__rows", "status__ticks", "status__updates")
    facts = replace(FACTS, feed=feed, tables={0: dict.fromkeys(names, TABLE)})
    ((shard_view,),) = (each.shards for each in status_of(facts).feeds)
    assert [each.table for each in shard_view.tables or ()] == ["flights"]
