"""Lag that a switchover waits for."""

from dataclasses import replace

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.failover_plan import Case, Move
from replicator.groups.planning.knowledge import Knowledge, LogRange, PartitionFacts
from replicator.groups.planning.lag import Lag, Origin, goals, lag
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion, Passed
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.run_segment import RunBuffer
from tests.replicator.mirror.offset_map.told_logs import learned

PARTITION = TopicPartition("trades", 0)
WEST, NORTH = Origin("west", PARTITION), Origin("north", PARTITION)


def move(**vector: int) -> Move:
    return Move(topic="trades", partition=0, case=Case.MOVES, committed=1, vector=vector)


def landed(records: int) -> OffsetMap:
    buffer = RunBuffer(0)
    if records:
        buffer.land(0, 0, records)
    return learned(buffer.take())


LOG = LogRange(0, 9)


def knowledge(age_ms: int | None = 0, log: LogRange | None = LOG, **known: Known) -> Knowledge:
    facts = PartitionFacts(
        here=PartitionInRegion({}), there=PartitionInRegion(known), there_log=log
    )
    return Knowledge(
        commits={},
        target_commits={},
        partitions={PARTITION: facts},
        mirrored_topics=frozenset({"trades"}),
        active_in_target=frozenset(),
        age_ms=age_ms,
    )


def test_all_that_was_written_and_all_that_was_read_has_to_arrive():
    found = goals({WEST: 10}, [move(west=7, north=5), move(west=12), move(north=3)])
    assert found == {WEST: 12, NORTH: 5}


def test_positions_that_do_not_move_have_nothing_to_wait_for():
    chosen = Move(topic="t", partition=0, case=Case.CHOSEN, committed=1, vector={"west": 7})
    assert goals({}, [chosen]) == {}


def test_records_that_runs_or_ledger_have_passed_have_arrived():
    for known in (Known(landed(8)), Known(landed(0), Passed(8, 8)), Known(landed(8), Passed(5, 5))):
        assert lag({WEST: 10}, knowledge(west=known), fresh_age_ms=0) == Lag({"west": 2})
        assert lag({WEST: 8}, knowledge(west=known), fresh_age_ms=0).is_zero


def test_a_route_of_which_nothing_is_known_is_waited_for_and_named():
    found = lag(
        {WEST: 3, NORTH: 0},
        knowledge(west=Known(landed(0)), north=Known(landed(0))),
        fresh_age_ms=0,
    )
    assert found == Lag({"north": 0}, unknown=1)
    assert str(found) == "partitions without a known ledger entry: 1"


def test_records_that_can_never_arrive_are_not_awaited():
    without_route = knowledge(north=Known(landed(0), Passed(0, 0)))
    without_partition = knowledge(log=None, west=Known(landed(0), Passed(0, 0)))
    for facts in (without_route, without_partition):
        assert lag({WEST: 3}, facts, fresh_age_ms=0).is_zero
    assert lag({Origin("west", TopicPartition("no", 0)): 3}, knowledge(), fresh_age_ms=0).is_zero
    behind = knowledge(west=Known(landed(0), Passed(0, 0)))
    not_mirrored = replace(behind, mirrored_topics=frozenset())
    assert not lag({WEST: 3}, behind, fresh_age_ms=0).is_zero
    assert lag({WEST: 3}, not_mirrored, fresh_age_ms=0).is_zero


def test_copies_of_before_the_groups_stopped_are_not_enough():
    assert not lag({}, knowledge(age_ms=11), fresh_age_ms=10).is_zero
    assert not lag({}, knowledge(age_ms=None), fresh_age_ms=10).is_zero
    assert lag({}, knowledge(age_ms=10), fresh_age_ms=10).is_zero


def test_the_text_of_a_lag_names_what_is_missing():
    assert str(Lag({"west": 3, "east": 0}, is_fresh=False)) == "3 records of west, the last commits"
    assert str(Lag()) == "nothing"
