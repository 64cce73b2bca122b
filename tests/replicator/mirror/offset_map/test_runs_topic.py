"""Messages of the runs topic: their content, and their refusal."""

import pytest

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import (
    CONFIGS,
    RunsKey,
    batched,
    decode,
    decode_key,
    encode,
)
from tests.replicator.mirror.offset_map.told_logs import learned

KEY = RunsKey("flights", 3, "c291cmNl", "dGFyZ2V0")
STRETCH = RunSegment(0, 20, (Run(5, 50, 10), Run(15, 70, 5)))


def test_a_message_carries_a_segment_and_its_key():
    key, piece = decode(*encode(KEY, STRETCH))
    assert key == KEY
    joined = OffsetMap()
    joined.join([piece])
    assert joined == learned([STRETCH])


def test_a_message_key_can_be_read_by_people():
    assert encode(KEY, STRETCH)[0] == b'[1,"flights",3,"c291cmNl","dGFyZ2V0",0]'


def test_a_key_of_a_newer_format_is_refused_by_its_version():
    with pytest.raises(UnknownVersion, match="format 2"):
        decode_key(b'[2,"flights"]')


@pytest.mark.parametrize("key", [None, b"", b"flights", b"7", b"[1]", b'[1,"t","x","a","b",0]'])
def test_a_key_that_is_not_ours_is_refused(key):
    with pytest.raises(BrokenPiece):
        decode_key(key)


def test_a_message_without_value_is_refused():
    with pytest.raises(BrokenPiece):
        decode(encode(KEY, STRETCH)[0], None)


def test_the_topic_keeps_runs_for_ever():
    assert CONFIGS["retention.ms"] == CONFIGS["retention.bytes"] == "-1"
    assert CONFIGS["cleanup.policy"] == "delete"


def test_portions_hold_every_piece_once():
    pieces = [decode(*encode(KEY, RunSegment(at, at + 1, ()))) for at in range(7)]
    portions = list(batched(iter(pieces), pieces_per_join=3))
    assert [sum(map(len, portion.values())) for portion in portions] == [3, 3, 1]
    assert [piece for portion in portions for piece in portion[KEY]] == [it[1] for it in pieces]
