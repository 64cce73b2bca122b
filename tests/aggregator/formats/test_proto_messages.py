"""Each table has one message, found by its name or by that of its file, or none."""

import pytest

from aggregator.formats.proto_messages import NoMessage, ProtoMessages, index_of
from tests.aggregator.formats.protos import folder_of

MANY = ProtoMessages(
    folder_of(
        air="""
        package air;
        import "google/protobuf/timestamp.proto";
        message Other { google.protobuf.Timestamp at = 1; }
        message flights { message inner { int32 a = 1; } inner a = 1; }
        """,
        alone="message Named { int32 a = 1; }",
        pair="message One { int32 a = 1; } message Two { int32 a = 1; }",
        sea="package sea; message ships { int32 a = 1; }",
        land="package land; message ships { int32 a = 1; }",
    )
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("flights", "air.flights"),
        ("air.flights", "air.flights"),
        ("Other", "air.Other"),
        ("alone", "Named"),
        ("One", "One"),
        ("sea.ships", "sea.ships"),
    ],
)
def test_a_message_is_found_by_the_name_of_its_table(table, message):
    assert MANY.of_table(table).full_name == message


@pytest.mark.parametrize("table", ["Flights", "inner", "Timestamp", "pair", "air", "none"])
def test_a_table_without_a_message_is_told_what_to_add(table):
    with pytest.raises(NoMessage, match=f"no message {table}, and no file {table}.proto"):
        MANY.of_table(table)


def test_of_two_messages_with_the_same_name_none_is_chosen():
    with pytest.raises(NoMessage, match="several messages .*: land.ships, sea.ships"):
        MANY.of_table("ships")


def test_the_index_of_a_message_counts_those_before_it():
    assert index_of(MANY.of_table("flights")) == 1
    assert index_of(MANY.of_table("Other")) == 0
