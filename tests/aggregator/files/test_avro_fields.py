"""Avro fields of records: their names and types; test_avro_file.py reads their bytes."""

from aggregator.files.avro_fields import TYPES, avro_fields, encoded_fields
from replicator.config.object_feed import RECORD_COLUMNS
from tests.aggregator.formats.datums import encoded
from tests.aggregator.formats.slices import slice_of


def test_each_column_of_a_record_has_a_field():
    assert tuple(TYPES) == RECORD_COLUMNS
    assert [each["name"] for each in avro_fields(("topic", "key"))] == ["topic", "key"]


def test_what_all_records_share_is_written_once():
    records = slice_of([b"a", b"b"])
    topic, headers = encoded_fields(records, ("topic", "headers"), "é", 3)
    assert topic == encoded("string", "é")
    assert headers == encoded(TYPES["headers"], [])
