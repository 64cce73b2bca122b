"""Frames of a connection, and the fields in them."""

from io import BytesIO

from aiokafka.protocol.types import Int32, Schema

from replicator.kafka.protocol.fields import by_topic, rows
from replicator.kafka.protocol.frame import KEPT_SHARE, Frame


def test_a_large_part_is_a_view_of_its_frame_and_a_small_one_a_copy():
    place = memoryview(bytearray(range(80)))
    frame = Frame(place)
    small, large = frame.view(80 // KEPT_SHARE - 1), frame.view(80 // KEPT_SHARE)
    for part in (small, large):
        part[0] = 255
    assert (place[0], place[len(small)]) == (0, 255)
    assert frame.read(1) == bytes([len(small) + len(large)])


def test_the_rest_is_what_was_not_read_yet():
    frame = Frame(memoryview(b"abcd"))
    assert frame.read(1) == b"a"
    assert (bytes(frame.rest()), bytes(frame.rest())) == (b"bcd", b"")


# -- Fields in the encoding with tags, compared with bytes after Kafka's protocol.


def test_rows_end_with_tags():
    schema = Schema(rows("brokers", ("node_id", Int32)))
    assert schema.encode([[(7, {})]]) == b"\x02\0\0\0\x07\0"


def test_partitions_are_listed_by_topic():
    schema, data = Schema(by_topic("topics", ("partition", Int32))), b"\x02\x02t\x02\0\0\0\x07\0\0"
    topics = [("t", [(7, {})], {})]
    assert schema.encode([topics]) == data
    assert schema.decode(BytesIO(data)) == (topics,)
