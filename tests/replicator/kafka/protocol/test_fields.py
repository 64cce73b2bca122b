"""Fields in the encoding with tags, compared with bytes after Kafka's protocol."""

from io import BytesIO

from aiokafka.protocol.types import Int32, Schema

from replicator.kafka.protocol.fields import by_topic, rows


def test_rows_end_with_tags():
    schema = Schema(rows("brokers", ("node_id", Int32)))
    assert schema.encode([[(7, {})]]) == b"\x02\0\0\0\x07\0"


def test_partitions_are_listed_by_topic():
    schema, data = Schema(by_topic("topics", ("partition", Int32))), b"\x02\x02t\x02\0\0\0\x07\0\0"
    topics = [("t", [(7, {})], {})]
    assert schema.encode([topics]) == data
    assert schema.decode(BytesIO(data)) == (topics,)
