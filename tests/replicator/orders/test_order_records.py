"""Records of the topic sluice.balance: orders, active plans and the status of rounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.carrier_plan import CarrierId, Plan
from balancer.decision.placement import Scope
from balancer.topic_partition import TopicPartition
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_records import (
    Answer,
    ByHand,
    Exclusion,
    Freeze,
    Hold,
    Lease,
    Pause,
    Pin,
    Placed,
    RefreshSchema,
    RotateTable,
    SettleTable,
    SkipReplay,
    Stream,
    UnreadableRecord,
    Uptime,
    by_carrier,
    decode,
    encode,
    key_of,
)
from replicator.orders.round_status import AlertStatus, MoveStatus, RoundStatus

# -- Records survive encoding, under a key of their own; foreign values are refused.

SAID = {"route": "west.east", "at_ms": 1, "who": "ann@host"}
OF_FEED = {**SAID, "route": "flights"}
RECORDS = [
    Pin(**SAID, topic="t", partition=1, carrier=2, until_ms=5),
    Exclusion(**SAID, carrier=2, why="slow host"),
    Hold(**SAID),
    Pause(**SAID, topic="t"),
    Pause(**SAID, topic="t", partition=1),
    Stream(**SAID, name="own", topics=("a.*",), first_carrier=1000, threshold=0.5),
    ByHand(**SAID, id="x", scope=Scope.FULL, generation=3),
    Answer(**SAID, id="x", stream="default", refused=None, generation=4, moves=2),
    Lease(**SAID, since_ms=1),
    Uptime(**SAID, uptime_ms=7),
    Freeze(**OF_FEED),
    Freeze(**OF_FEED, topic="t", partition=0),
    Freeze(**OF_FEED, cluster="west regional", topic="t", table="hits", until_ms=5),
    Freeze(**OF_FEED, table="t"),
    RefreshSchema(**OF_FEED),
    RefreshSchema(**OF_FEED, table="t"),
    SettleTable(**OF_FEED, table="t"),
    RotateTable(**OF_FEED, table="t"),
    SkipReplay(
        **OF_FEED, cluster="west regional", topic="t", partition=1, table="hits", begin=1, end=2
    ),
]
places = st.builds(TopicPartition, st.sampled_from(["a", "a-0", "ü"]), st.integers(0, 99))


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_read_back_is_the_same(record):
    assert decode(encode(record)) == record


@given(st.dictionaries(places, st.integers(0, 4)))
def test_a_placement_read_back_has_every_partition_where_it_was(where):
    placed = Placed(
        **SAID, stream="s", generation=1, carriers=(0,), topics=by_carrier(where.items())
    )
    assert decode(encode(placed)).where == where


def test_every_record_has_a_key_of_its_own():
    assert len({key_of(record) for record in RECORDS}) == len(RECORDS)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"", "JSON"),
        (b"[]", "object"),
        (b'{"kind":"spell"}', "kind"),
        (encode(RECORDS[0]).replace(b'"version":1', b'"version":2'), "version"),
        (encode(RECORDS[0]).replace(b'"carrier":2', b'"carrier":-2'), "carrier"),
        (encode(RECORDS[0]).replace(b'"carrier":2', b'"carrier":2,"more":1'), "more"),
    ],
)
def test_what_is_no_record_of_ours_is_refused_by_name(value, what):
    with pytest.raises(UnreadableRecord, match=what):
        decode(value)


# -- A driver's active plan is read back as it was written; other formats are refused.

SHOWN = ActivePlan(
    Plan(3, {CarrierId("west.east", 1): (TopicPartition("t", 0),)}),
    slots=2,
    posted_at=1.5,
    generations=(("west.east", "default", 7),),
    paused=(("west.east", (("t", 1),)),),
)


def test_what_is_shown_is_read_as_it_was():
    assert ActivePlan.from_json(SHOWN.to_json()) == SHOWN


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"plan": 1}'])
def test_what_is_no_plan_of_ours_is_refused(text):
    with pytest.raises(ValueError):
        ActivePlan.from_json(text)


def test_a_stream_of_which_no_placement_is_carried_has_generation_0():
    assert (SHOWN.generation("west.east", "default"), SHOWN.generation("west.east", "own")) == (
        7,
        0,
    )


# -- The status of a round is read back as it was written.


def test_a_status_read_back_is_the_same():
    status = RoundStatus(
        route="west.east",
        stream="default",
        at_ms=1,
        generation=2,
        partitions=3,
        moves=(MoveStatus(topic="t", partition=0, source=None, target=1, reason="new"),),
        loads={0: 0.5, 7: 0.25},
        alerts=(AlertStatus(name="hot partition", text="t-0", evidence={"share": 0.9}),),
    )
    assert RoundStatus.model_validate_json(status.model_dump_json()) == status
