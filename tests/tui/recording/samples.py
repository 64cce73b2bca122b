"""Snapshots for tests of recordings: one with every part, and strategies for any."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from replicator.audit.kept_audit import KeptAudit
from replicator.notices.condition import Condition
from tui.facts.alert import Alert, AlertState, Level
from tui.facts.balancing import BalanceAlert, BalanceView, CarrierLoad, OrderView, StreamView
from tui.facts.feed_status import (
    BlockView,
    FeedPartitionView,
    FeedView,
    ShardView,
    TableState,
    TableView,
)
from tui.facts.group_view import GroupDetail, GroupPosition, GroupView
from tui.facts.health import Health
from tui.facts.part import Part
from tui.facts.plan_summary import PlanCheck, PlanPosition, PlanSummary
from tui.facts.region_view import DaemonView, RegionEvent, RegionView
from tui.facts.route_summary import topic_totals
from tui.facts.route_view import PartitionView, RouteView, TopicView
from tui.facts.snapshot import Snapshot

BEGAN = 1_800_000_000.0


def partition(number: int, *, end: int | None = 100, lag: int | None = 5) -> PartitionView:
    return PartitionView(
        topic="orders",
        partition=number,
        source_end=end,
        mirrored_to=None if end is None or lag is None else end - lag,
        lag_records=lag,
        lag_seconds=0.25,
        records_per_second=20.0,
        bytes_per_second=2000.0,
        carrier=number % 3,
        host="repl-a",
        custody="held",
        parked=None,
        state=Health.OK,
    )


def route(*partitions: PartitionView, state: Health = Health.OK, why: str = "") -> RouteView:
    topic = TopicView(
        topic="orders",
        states=("mirrored",),
        notes=(),
        partitions=partitions,
        **topic_totals(partitions),
    )
    return RouteView(
        route="west>east",
        source="west",
        target="east",
        topics=(topic,),
        denied_topics=0,
        problems=(),
        state=state,
        why=why,
        lag_history=(1.0, None, 3.5),
    )


def alert(key: str, state: AlertState = AlertState.OPEN) -> Alert:
    return Alert(
        key=key,
        region="east",
        level=Level.PAGE,
        state=state,
        kind="condition",
        text=f"text of {key}",
        since_ms=5,
        about=("west>east",),
        command=("balance", "show"),
    )


def event(number: int) -> RegionEvent:
    return RegionEvent(
        region="east",
        event_id=f"{number}-0",
        at_ms=number,
        kind="carrier-waits",
        level="warning",
        who="carrier 3",
        text=f"event {number}",
    )


def feed() -> FeedView:
    state = TableState(
        parts=3,
        window_blocks=100,
        window_seconds_max=None,
        blocks_per_second=0.5,
        has_coordinates=True,
    )
    block = BlockView(table="flights", begin=5, end=9, records=4, age_seconds=1.5, window_used=None)
    partition = FeedPartitionView(
        cluster="east aggregate",
        topic="flights",
        partition=0,
        shard=0,
        mode="consume",
        committed=9,
        end=12,
        lag_records=3,
        lag_seconds=0.5,
        buffered_bytes=100,
        rows_per_second=3.0,
        dead_letters=0,
        loader=1,
        blocks=(block,),
        custody="held",
        parked=None,
        frozen=None,
    )
    return FeedView(
        feed="flights",
        region="east",
        shards=(
            ShardView(number=0, database="db", tables=(TableView(table="flights", state=state),)),
            ShardView(number=1, database="db", tables=None),
        ),
        partitions=(partition, replace(partition, partition=1, blocks=None)),
        unknown_clusters=("west aggregate",),
        orders=None,
        problems=(),
    )


def full(at: float = BEGAN) -> Snapshot:
    """Returns a snapshot in which every part holds something."""
    daemon = DaemonView(role="replicate", state="runs", version="0.2.0", host="repl-a", pid=7)
    stream = StreamView(
        route="west>east",
        stream="default",
        generation=4,
        carriers=(CarrierLoad(number=3, partitions=4, load=0.5),),
        alerts=(BalanceAlert(name="hot-partition", text="orders-1"),),
    )
    order = OrderView(
        kind="pause", route="west>east", stream=None, what="orders", who="a", why="test"
    )
    position = GroupPosition(
        topic="orders", partition=0, committed={"west": 5}, lag={"west": 2}, resume=5
    )
    plan = PlanSummary(
        plan_id="20270115-080000-f1fd",
        source="west",
        target="east",
        reason="test",
        made_at_ms=5,
        valid_until_ms=9,
        is_blocked=False,
        groups=("billing",),
        checks=(PlanCheck(name="age", result="pass", text="0.2 s"),),
        positions=(
            PlanPosition(
                group="billing",
                topic="orders",
                partition=0,
                committed=5,
                resume=4,
                basis="floor",
                read_again=1,
                not_replicated=None,
            ),
        ),
    )
    return Snapshot(
        taken_at=at,
        parts=(Part(server="west regional", about="topics", asked_at=at - 1),),
        regions=(RegionView(region="east", daemons=(daemon,), problems=("no answer",)),),
        routes=(route(partition(0), partition(1, end=None, lag=None)),),
        conditions=(Condition(kind="parked", who="carrier 3", text="parked", since_ms=5),),
        groups=(GroupView(group="billing", primary="west", lag={"west": 5, "east": 0}),),
        group_detail=GroupDetail(
            group="billing", source="west", target="east", worked_out_at=at, positions=(position,)
        ),
        balance=(BalanceView(region="east", streams=(stream,), orders=(order,)),),
        plans=(plan,),
        audits=(
            KeptAudit(
                route="west>east",
                at_ms=5,
                since_ms=1,
                until_ms=4,
                by="bytes",
                who="a",
                counts={"same": 3},
            ),
        ),
        alerts=(alert("a"),),
        feeds=(feed(),),
        events=(event(2), event(1)),
    )


maybe_numbers = st.none() | st.integers(0, 2**63)
maybe_floats = st.none() | st.floats(allow_nan=False)
texts = st.text(max_size=5)
partitions = st.builds(
    replace,
    st.integers(0, 5).map(partition),
    source_end=maybe_numbers,
    mirrored_to=maybe_numbers,
    lag_records=maybe_numbers,
    lag_seconds=maybe_floats,
    records_per_second=maybe_floats,
    parked=st.none() | texts,
    state=st.sampled_from(Health),
)
routes = st.builds(
    lambda own, *more: replace(route(*own), state=more[0], why=more[1], lag_history=more[2]),
    st.lists(partitions, max_size=4),
    st.sampled_from(Health),
    texts,
    st.lists(maybe_floats, max_size=3).map(tuple),
) | st.just(replace(route(), topics=None))
groups = st.builds(
    GroupView, group=texts, lag=st.dictionaries(texts, st.integers(0, 9), max_size=2)
)
alerts = st.builds(alert, st.sampled_from("abc"), st.sampled_from(AlertState))
snapshots = st.builds(
    replace,
    st.sampled_from([full(), Snapshot(taken_at=BEGAN)]),
    taken_at=st.floats(0, 4e9, allow_nan=False),
    routes=st.lists(routes, max_size=3).map(tuple),
    groups=st.none() | st.lists(groups, max_size=3).map(tuple),
    group_detail=st.sampled_from([None, full().group_detail]),
    alerts=st.none() | st.lists(alerts, max_size=3, unique_by=lambda each: each.key).map(tuple),
    events=st.none() | st.lists(st.integers(0, 9).map(event), max_size=4).map(tuple),
)
