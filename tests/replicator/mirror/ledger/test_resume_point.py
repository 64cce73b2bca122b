"""The resume point skips no record that has not landed, and names every accepted loss."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.client.source_inspection import SourceFindings
from replicator.mirror.ledger.acquired import Taken
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.resume_point import Evidence, Successor, resume_point, successor_entry
from replicator.mirror.ledger.stale_entry import PublishedRun
from replicator.mirror.ledger.tail import Tail
from replicator.mirror.offset_map.runs_tail import LastRun
from tests.replicator.mirror.ledger.held import held

SOURCE, TARGET = UUID(int=1), UUID(int=2)
ENTRY = held(source_offset=10, target_offset=100, source_topic=SOURCE, target_topic=TARGET)
SUCCESSOR = Successor(
    producer_id=8,
    epoch=0,
    sequence=0,
    transactional_id="sluice.west.east.99",
    source_topic=SOURCE,
    target_topic=TARGET,
)
WHOLE = SourceFindings(start=0, leader=3, loss=None)
PASSED = Loss(LossKind.RETENTION_PASSED, 10, 20)
TAIL_DELETED = Loss(LossKind.TARGET_TAIL_DELETED, 100, 150)
CHANGED = Loss(LossKind.TIMES_CHANGED, 13, 15)
MISSING = Loss(LossKind.BATCH_MISSING, 12, 14)


def evidence(entry: Entry = ENTRY, **changes: Any) -> Evidence:
    """Returns the evidence of a target log that ends at 160, without a tail and without losses."""
    facts = Evidence(
        entry=entry,
        is_own=False,
        is_accepted=False,
        restart_at=None,
        target=TargetFindings(start=50, end=160, leader=4, loss=None),
        tail=None,
        published=None,
        first_offset=None,
    )
    return replace(facts, **changes)


def outcome(facts: Evidence, source: SourceFindings = WHOLE) -> Taken | Loss:
    """Returns the decision for a source inspection that does not depend on the position."""
    point = resume_point(facts)
    return point if isinstance(point, Loss) else successor_entry(facts, point, source, SUCCESSOR)


def taken(facts: Evidence, source: SourceFindings = WHOLE) -> Taken:
    found = outcome(facts, source)
    assert isinstance(found, Taken)
    return found


def test_a_released_partition_continues_at_its_entry_and_the_end_of_the_target():
    released = replace(ENTRY, custody=Custody.RELEASED)
    found = taken(evidence(released))
    assert (found.entry.source_offset, found.entry.target_offset) == (10, 160)
    assert found.entry.is_held_by(8, 0)
    assert (found.source_leader, found.target_leader, found.accepted) == (3, 4, ())


def test_a_virgin_partition_begins_at_the_first_offset():
    virgin = replace(ENTRY, custody=Custody.VIRGIN, source_offset=0)
    found = taken(evidence(virgin, first_offset=30))
    assert (found.entry.source_offset, found.was_virgin) == (30, True)


def test_records_of_the_tail_are_not_carried_again():
    found = taken(evidence(tail=Tail(landed=5, end=140, mark=None, runs=())))
    assert (found.entry.source_offset, found.entry.target_offset) == (15, 140)


def test_our_own_entry_keeps_its_offsets_and_its_sequence():
    own = replace(ENTRY, sequence=50)
    found = taken(evidence(own, is_own=True)).entry
    assert (found.source_offset, found.target_offset, found.sequence) == (10, 100, 50)


@pytest.mark.parametrize(
    "changes",
    [
        {"tail": TAIL_DELETED},
        {"tail": Tail(landed=5, end=140, mark=None, runs=(), missing=MISSING)},
        {"published": PublishedRun(LastRun(source_end=90, target_end=120), losses=0)},
    ],
    ids=["tail deleted", "batch missing", "entry older than the runs"],
)
def test_a_loss_at_the_target_stops_until_an_operator_accepts_it(changes):
    assert isinstance(outcome(evidence(**changes)), Loss)
    assert len(taken(evidence(**changes, is_accepted=True)).accepted) == 1


def test_a_tail_that_ends_at_the_marker_of_an_earlier_takeover_does_not_hide_later_runs():
    tail = Tail(landed=5, end=120, mark=None, runs=())
    run = PublishedRun(LastRun(source_end=90, target_end=150), losses=0)
    found = outcome(evidence(tail=tail, published=run))
    assert isinstance(found, Loss) and found.kind is LossKind.LEDGER_TURNED_BACK


def test_a_loss_at_the_source_stops_until_an_operator_accepts_it():
    source = SourceFindings(start=20, leader=3, loss=PASSED)
    assert outcome(evidence(), source) == PASSED
    found = taken(evidence(is_accepted=True), source)
    assert (found.entry.source_offset, found.accepted) == (20, (PASSED,))


def test_every_loss_that_is_skipped_is_named_once():
    source = SourceFindings(start=20, leader=3, loss=PASSED)
    facts = evidence(tail=TAIL_DELETED, is_accepted=True)
    assert taken(facts, source).accepted == (TAIL_DELETED, PASSED)
    parked = replace(facts, entry=replace(ENTRY, parked=TAIL_DELETED))
    assert taken(parked, source).accepted == (TAIL_DELETED, PASSED)


@pytest.mark.parametrize("missing", [None, MISSING])
def test_changed_timestamps_of_a_tail_stop_until_an_operator_accepts_them_and_are_named(missing):
    tail = Tail(landed=5, end=140, mark=None, runs=(), missing=missing, changed=CHANGED)
    assert outcome(evidence(tail=tail)) == (missing or CHANGED)
    found = taken(evidence(tail=tail, is_accepted=True))
    assert {*found.accepted} == {CHANGED} | ({missing} if missing else set())


def test_changed_timestamps_are_not_named_again_where_the_partition_is_parked_for_them():
    parked = replace(CHANGED, begin=10, end=30)
    tail = Tail(landed=5, end=140, mark=None, runs=(), changed=CHANGED)
    facts = evidence(replace(ENTRY, parked=parked), tail=tail, is_accepted=True)
    assert taken(facts).accepted == (parked,)


def test_sightings_of_another_source_topic_are_dropped():
    recreated = replace(ENTRY, source_topic=UUID(int=9))
    assert taken(evidence(recreated)).entry.seen == ()


positions = st.integers(0, 1000)


@given(
    landed=positions,
    run_end=st.none() | positions,
    restart_at=st.none() | positions,
    is_accepted=st.booleans(),
)
def test_without_an_accepted_loss_the_point_follows_from_entry_and_tail_alone(
    landed, run_end, restart_at, is_accepted
):
    published = None if run_end is None else PublishedRun(LastRun(run_end, 120), losses=0)
    facts = evidence(
        tail=Tail(landed=landed, end=160, mark=None, runs=()),
        published=published,
        restart_at=restart_at,
        is_accepted=is_accepted,
    )
    point = resume_point(facts)
    carried_to = 10 + landed
    if isinstance(point, Loss):
        assert not is_accepted
        assert run_end is not None
        assert (point.begin, point.end) == (carried_to, run_end)
    elif any(point.losses):
        assert is_accepted
        assert carried_to < point.source_offset <= (run_end or 0)
    else:
        assert point.source_offset == carried_to
