"""Messages of the runs topic: their content, their refusal, and how losses overrule."""

import pytest

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import (
    RunsKey,
    batched,
    decode,
    decode_key,
    encode,
    overruled,
    runs_topic,
)

KEY = RunsKey("flights", 3, "c291cmNl", "dGFyZ2V0")
STRETCH = RunSegment(0, 20, (Run(5, 50, 10), Run(15, 70, 5)))


def told(*stretches: RunSegment) -> OffsetMap:
    offset_map = OffsetMap()
    for stretch in stretches:
        offset_map.learn(stretch)
    return offset_map


def test_a_message_carries_a_stretch_and_whose_it_is():
    key, piece = decode(*encode(KEY, STRETCH))
    assert key == KEY
    joined = OffsetMap()
    joined.join([piece])
    assert joined == told(STRETCH)


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
    topic = runs_topic("west.east")
    assert topic.name == "sluice.runs.west.east"
    assert topic.configs["retention.ms"] == "-1"
    assert topic.configs["cleanup.policy"] == "delete"


def test_portions_hold_every_piece_once():
    pieces = [decode(*encode(KEY, RunSegment(at, at + 1, ()))) for at in range(7)]
    portions = list(batched(iter(pieces), pieces_max=3))
    assert [sum(map(len, portion.values())) for portion in portions] == [3, 3, 1]
    assert [piece for portion in portions for piece in portion[KEY]] == [it[1] for it in pieces]


def test_runs_told_after_an_accepted_loss_overrule_those_before_it():
    before = told(RunSegment(0, 100, (Run(0, 0, 100),)))
    # The target lost everything from 60 on; the operator went on at source offset 100.
    after = told(RunSegment(100, 110, (Run(100, 60, 10),)))
    later = RunsKey(KEY.topic, KEY.partition, KEY.source_topic_id, KEY.target_topic_id, losses=1)
    maps = overruled({later: after, KEY: before})
    assert list(maps) == [KEY]
    assert list(maps[KEY].runs()) == [Run(0, 0, 60), Run(100, 60, 10)]
