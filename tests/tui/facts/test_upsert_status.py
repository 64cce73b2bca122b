"""Status of upsert tables: what ledger, logs and servers tell, and what nobody tells."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.tick import Lane, LaneRange, Stop, Tick
from replicator.config.feed_settings import ClickHouseFeed
from replicator.kafka.client.loss import Loss, LossKind
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import Freeze
from tests.replicator.config.any_feed import ANY_FEED, ANY_UPSERT_TABLE
from tui.facts.upsert_status import (
    LogPlace,
    ServerAnswer,
    UpsertFacts,
    table_view,
    upsert_status,
)

NOW_MS = 1_000_000
FEED = ClickHouseFeed.model_validate({**ANY_FEED, "tables": {"status": ANY_UPSERT_TABLE}})
ONE, OTHER = UUID(int=1), UUID(int=2)
HOME = "region regional"
CLAIM = TickRow(1, 9, What.CLAIM, NOW_MS - 2_500, (5, 7), rows=40, events=3, expired=2, letters=1)
SETTLED = TickRow(1, 6, What.SETTLED, NOW_MS - 20_000)
ANSWER = ServerAnswer(
    claim=CLAIM, settled=SETTLED, oldest=2, is_whole=True, unsettled=8, rows=1_000, bytes=5_000
)
TICK = Tick(
    1,
    10,
    NOW_MS,
    (Lane(HOME, "status", ONE, 0), Lane(HOME, "gone", OTHER, 3)),
    (LaneRange(5, 9), LaneRange(7, 7)),
    stops=(Stop(1, Loss(LossKind.SOURCE_DELETED, 7, None)),),
)
FACTS = UpsertFacts(
    feed=FEED,
    table=FEED.tables["status"],
    tick=TICK,
    is_tick_known=True,
    ends={LogPlace(HOME, "status", ONE, 0): 12, LogPlace(HOME, "status", ONE, 1): 4},
    unknown_clusters=(),
    orders=FeedOrders(feed="feed"),
    servers={"one": ANSWER, "two": None},
)


def test_a_table_is_shown_by_its_ledger_and_by_the_servers_that_answer() -> None:
    view = table_view(FACTS, NOW_MS)
    assert (view.feed, view.table, view.database, view.home) == ("feed", "status", "default", HOME)
    assert (view.generation, view.tick, view.claimed) == (1, 10, 9)
    assert (view.rows, view.events, view.expired, view.letters) == (40, 3, 2, 1)
    assert (view.claimed_age_seconds, view.settled_age_seconds) == (2.5, 20.0)
    assert (view.settled, view.oldest, view.unsettled_events) == (6, 2, 8)
    one, two = view.servers
    assert (one.claimed, one.settled, one.is_whole, one.rows, one.bytes) == (
        9,
        6,
        True,
        1_000,
        5_000,
    )
    assert (two.server, two.claimed, two.is_whole) == ("two", None, None)


def test_partitions_are_those_of_the_tick_and_of_the_clusters() -> None:
    gone, known, new = table_view(FACTS, NOW_MS).partitions
    assert (gone.topic, gone.lane, gone.next_offset, gone.end, gone.lag) == (
        "gone",
        1,
        7,
        None,
        None,
    )
    assert gone.stopped is not None and gone.stopped.startswith("source topic was deleted")
    assert (known.lane, known.next_offset, known.end, known.lag) == (0, 9, 12, 3)
    assert known.stopped is None
    assert (new.partition, new.lane, new.next_offset, new.end, new.lag) == (1, None, None, 4, None)
    assert table_view(FACTS, NOW_MS).lag is None, "nobody told where the log of partition 1 begins"
    begun = {place: end for place, end in FACTS.ends.items() if place.partition != 1}
    assert table_view(replace(FACTS, ends=begun), NOW_MS).lag == 3


def test_a_topic_that_was_created_again_is_another_partition() -> None:
    again = replace(FACTS, ends={LogPlace(HOME, "status", OTHER, 0): 2})
    shown = [(each.topic, each.lane, each.end) for each in table_view(again, NOW_MS).partitions]
    assert shown == [("gone", 1, None), ("status", None, 2), ("status", 0, None)]


def test_the_settle_point_is_that_of_the_server_furthest_behind() -> None:
    behind = replace(ANSWER, settled=SETTLED._replace(tick=4))
    assert table_view(replace(FACTS, servers={"a": ANSWER, "b": behind}), NOW_MS).settled == 4
    never = replace(ANSWER, settled=None)
    found = table_view(replace(FACTS, servers={"a": ANSWER, "b": never}), NOW_MS)
    assert (found.settled, found.settled_age_seconds) == (0, None)


def test_ends_are_lost_once_no_server_that_answers_has_a_point_behind_the_horizon() -> None:
    lost = replace(ANSWER, settled=None, horizon=6)
    young = replace(ANSWER, settled=None)
    for servers, are_lost in (
        ({"a": lost, "b": lost, "c": None}, True),
        ({"a": lost, "b": ANSWER}, False),
        ({"a": young}, False),
        ({"a": None}, False),
    ):
        assert table_view(replace(FACTS, servers=servers), NOW_MS).are_ends_lost is are_lost


def test_what_nobody_tells_is_not_known_and_what_is_not_there_yet_is_0() -> None:
    silent = replace(FACTS, tick=None, is_tick_known=False, servers={"one": None}, ends={})
    view = table_view(silent, NOW_MS)
    assert (view.tick, view.claimed, view.settled, view.oldest, view.lag) == (None,) * 5
    new = ServerAnswer(
        claim=None, settled=None, oldest=0, is_whole=True, unsettled=0, rows=0, bytes=0
    )
    empty = table_view(replace(FACTS, tick=None, servers={"one": new}, ends={}), NOW_MS)
    assert (empty.tick, empty.claimed, empty.settled, empty.oldest, empty.lag) == (0,) * 5
    assert empty.claimed_age_seconds is None


def test_the_lag_is_not_known_while_a_cluster_did_not_tell_its_ends() -> None:
    assert table_view(replace(FACTS, unknown_clusters=(HOME,)), NOW_MS).lag is None


def test_a_problem_that_several_tables_have_is_told_once() -> None:
    failing = replace(FACTS, problems=("h: no answer",))
    assert upsert_status([failing, failing], NOW_MS).problems == ("h: no answer",)


def frozen(**where: object) -> list[str | None]:
    """Returns the freezes of the partitions after an order."""
    order = Freeze.model_validate(
        {"route": "feed", "at_ms": 1, "who": "ann@host", "why": "a report", **where}
    )
    facts = replace(FACTS, orders=FeedOrders(feed="feed", freezes=(order,)))
    return [each.frozen for each in table_view(facts, NOW_MS).partitions]


def test_freezes_of_the_feed_the_table_the_topic_and_a_partition_are_shown_until_they_end() -> None:
    why = "by ann@host: a report"
    assert frozen() == frozen(table="status") == [why] * 3
    assert frozen(topic="status") == [None, why, why]
    assert frozen(topic="status", partition=1, cluster=HOME) == [None, None, why]
    assert frozen(table="other") == frozen(until_ms=NOW_MS - 1) == [None] * 3


def test_nobody_tells_freezes_without_the_orders() -> None:
    assert table_view(FACTS, NOW_MS).are_orders_known
    assert not table_view(replace(FACTS, orders=None), NOW_MS).are_orders_known
