"""Facts: notes of lanes travel as facts, and parts of a lane's range add up."""

from aggregator.upsert.facts import FACTS, KEY_BYTES, LaneNote, note_batch, notes_by_lane


def test_the_notes_of_a_lane_that_was_read_in_parts_add_up():
    batch = note_batch(
        7,
        [
            LaneNote(3, rows=2, letters=((9, "no key"),)),
            LaneNote(0, rows=1),
            LaneNote(3, rows=5, expired=1, future=1, letters=((4, "too far ahead"),)),
        ],
    )
    assert batch.schema == FACTS
    assert notes_by_lane(batch["note"].to_pylist()) == (
        LaneNote(0, rows=1),
        LaneNote(3, 7, 1, 1, ((4, "too far ahead"), (9, "no key"))),
    )


def test_the_key_of_a_note_is_no_hash_of_a_key():
    batch = note_batch(1, [LaneNote(2**31 - 1)])
    assert len(batch["key"][0].as_py()) != KEY_BYTES
    assert batch["order"].to_pylist() == [1]
