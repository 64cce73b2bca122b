"""A round state is read back from the placement record that it was written to."""

from dataclasses import replace

from balancer.decision.state import RoundState
from balancer.topic_partition import TopicPartition
from replicator.placement.rounds.placement_record import placement_record, round_state

STATE = RoundState(
    where={TopicPartition("orders", 0): 0, TopicPartition("orders", 1): 2},
    carriers=(0, 1, 2),
    generation=7,
    moved_at_ms=5,
    drifting_rounds=3,
)
RECORD = placement_record(
    STATE, route="west.east", stream="own", first_carrier=1000, at_ms=9, who="balancer"
)


def test_a_state_read_back_is_the_same():
    assert round_state(RECORD, 1000) == STATE


def test_a_record_numbers_carriers_from_the_streams_first_one():
    assert RECORD.carriers == (1000, 1001, 1002)
    assert set(RECORD.where.values()) == {1000, 1002}
    assert not RECORD.state.keys() & {"where", "carriers", "generation"}


def test_of_a_record_by_another_version_the_placement_stays():
    strange = RECORD.model_copy(update={"state": {"version": 99, "spell": 1}})
    assert round_state(strange, 1000) == replace(STATE, moved_at_ms=None, drifting_rounds=0)
