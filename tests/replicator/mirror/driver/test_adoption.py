"""Claims about adoption: partitions whose entries may be lost are never taken for new ones."""

from dataclasses import replace
from uuid import uuid4

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.client.progress_expiry import ProgressExpiry
from replicator.mirror.driver.adoption import (
    Claim,
    RenewalWatch,
    adoptable,
    beginnings,
    claims,
    merged,
)
from replicator.mirror.ledger.entry import Begin, Custody, Entry
from replicator.mirror.ledger.sightings import Sighting
from replicator.mirror.topics.topic_plan import Carried

WEST, EAST = Route("west", "east"), Route("east", "east")
PLACES = [TopicPartition("orders", number) for number in range(4)]


def ends(*values):
    return {place: end for place, end in zip(PLACES, values, strict=True) if end is not None}


def test_all_routes_claim_a_topic_that_one_of_them_carries_and_the_largest_number_of_partitions():
    carried = [
        Carried(WEST, "orders", 2, uuid4(), uuid4()),
        Carried(EAST, "orders", 3, uuid4(), uuid4()),
        Carried(WEST, "clicks", 1, uuid4(), uuid4()),
    ]
    assert claims((WEST, EAST), carried) == [
        Claim(EAST, "clicks", 1),
        Claim(EAST, "orders", 3),
        Claim(WEST, "clicks", 1),
        Claim(WEST, "orders", 3),
    ]


def test_empty_partitions_are_adopted():
    assert adoptable(PLACES, (), ends(0, 0, 0, 0), trusting=False) == PLACES


def test_a_partition_with_records_and_without_entry_waits_and_so_do_those_behind_it():
    assert adoptable(PLACES, (), ends(0, 7, 0, 0), trusting=False) == PLACES[:1]


def test_on_the_operators_word_a_route_is_adopted_whatever_the_target_holds():
    assert adoptable(PLACES, (), ends(0, 7, 0, 9), trusting=True) == PLACES


def test_an_entry_that_is_there_counts_although_its_witness_is_gone():
    assert adoptable(PLACES, PLACES[1:2], ends(0, 7, 0, 0), trusting=False) == PLACES


def test_a_partition_whose_end_is_not_known_waits_even_when_trusted():
    assert adoptable(PLACES, (), ends(0, None, 0, 0), trusting=True) == PLACES[:1]


def test_commits_to_one_group_are_joined():
    first, second = ("orders", 0, 0, "a"), ("clicks", 0, 0, "b")
    assert merged([{"g": [first]}, {"g": [second], "h": [first]}]) == {
        "g": [first, second],
        "h": [first],
    }


def test_partitions_that_were_added_later_are_carried_whole():
    assert beginnings({}, 2, 4) == {2: Begin(0), 3: Begin(0)}


def test_partitions_that_were_there_first_and_had_to_wait_begin_where_they_began_then():
    at_first = {0: Begin(70), 1: Begin(80), 2: Begin(90)}
    assert beginnings(at_first, 0, 3) == at_first
    assert beginnings(at_first, 2, 4) == at_first | {3: Begin(0)}


def test_a_source_that_did_not_tell_at_first_leaves_the_beginning_to_the_carrier():
    assert beginnings({}, 0, 3) == {}


# -- entries that nobody renews

DAY, WEEK = 86_400.0, ProgressExpiry(7 * 86_400.0, 7 * 86_400.0, is_known=True)
NOW_MS = 1_700_000_000_000
PLACE = PLACES[0]


def entry(custody=Custody.RELEASED, *, days=None, transactional_id="free", **fields):
    """Returns an entry that was committed so many days ago; None: it does not say."""
    ms = None if days is None else NOW_MS - round(days * DAY * 1000)
    seen = () if ms is None else (Sighting(ms, ms, 5, 5),)
    return Entry(
        custody=custody, source_offset=5, target_offset=5, producer_id=1, epoch=1, sequence=0,
        transactional_id=transactional_id, seen=seen, **fields,
    )  # fmt: skip


def due(watch, one, *, days=0.0):
    """Returns whether an entry is due after so many days."""
    now = days * DAY
    found = watch.due(WEST, {PLACE: one}, WEEK, now=now, now_ms=NOW_MS + round(now * 1000))
    return found == {one.transactional_id: {PLACE: one}}


@pytest.mark.parametrize(
    ("one", "is_due"),
    [
        (entry(Custody.VIRGIN), True),
        (entry(), True),
        (entry(days=1), False),
        (entry(days=2), True),
        (entry(Custody.HELD, days=3), False),
        (entry(Custody.HELD, days=4), True),
        (entry(Custody.HELD, days=2).park(Loss(LossKind.SOURCE_CORRUPT, 5, 6)), True),
        (entry(days=6, transactional_id=""), False),
    ],
    ids=[
        "adopted", "released, age unknown", "released", "long released", "held", "of a dead holder",
        "parked", "unreadable",
    ],
)  # fmt: skip
def test_entries_are_due_by_their_last_sighting(one, is_due):
    assert due(RenewalWatch(), one) is is_due


def test_an_entry_that_a_living_carrier_commits_is_never_due():
    watch = RenewalWatch()
    for number in range(100):
        days = number / 10
        one = entry(Custody.HELD)
        one = replace(one, seen=(Sighting(NOW_MS, NOW_MS + round(days * DAY * 1000), 5, 5),))
        assert not due(watch, one, days=days)


def test_a_renewed_entry_is_due_again_only_once_it_has_aged():
    watch, one = RenewalWatch(), entry(days=6)
    assert due(watch, one)
    watch.renewed(WEST, [PLACE], 0.0)
    assert not due(watch, one, days=1)
    assert due(watch, one, days=2)


def test_an_entry_that_a_carrier_took_meanwhile_is_judged_anew():
    watch, one = RenewalWatch(), entry(days=6)
    assert due(watch, one)
    watch.renewed(WEST, [PLACE], 0.0)
    assert due(watch, replace(one, source_offset=6))
