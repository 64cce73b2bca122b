"""Tests of the rows of a tick's records."""

from __future__ import annotations

import json

import pytest

from aggregator.formats import row_batches
from aggregator.formats.protobuf_records import ProtobufRecords
from aggregator.formats.row_batch_type import WrittenColumn
from aggregator.formats.undecodable import SettingAside
from aggregator.upsert.facts import FACTS
from aggregator.upsert.row_facts import RowReading, order_since
from aggregator.upsert.version import ORDER_MIN
from tests.aggregator.formats.protos import folder_of, message_class, row_batch
from tests.aggregator.upsert.tick_records import (
    HOUR_MS,
    NOW_MS,
    Rules,
    reading,
    records,
    rows_schema,
    tick_of,
)

SCHEMA = rows_schema(id="UInt64", text="String")


def rows_of(tick, *parts, rules=None, schema=SCHEMA):
    return reading(tick, rules or Rules(), schema).rows(parts)


def document(**fields):
    return json.dumps(fields).encode()


def test_rows_of_several_lanes_have_the_ids_and_coordinates_of_the_tick():
    tick = tick_of((10, 13), (5, 5), (100, 102))
    found = rows_of(
        tick,
        records(0, 10, b'{"id":1}', b'{"id":2}', b'{"id":1}'),
        records(2, 100, b'{"id":3}', b'{"id":1}'),
    )
    assert found.row_id.tolist() == [
        *(tick.row_id(0, offset) for offset in (10, 11, 12)),
        *(tick.row_id(2, offset) for offset in (100, 101)),
    ]
    assert found.lane.tolist() == [0, 0, 0, 2, 2]
    assert found.decoded.offset.tolist() == [10, 11, 12, 100, 101]
    assert found.key[0] == found.key[2] == found.key[4] != found.key[1]
    assert [(note.lane, note.rows) for note in found.notes] == [(0, 3), (2, 2)]


def test_facts_have_the_columns_that_the_coordinator_reads():
    facts = rows_of(tick_of((0, 1)), records(0, 0, b'{"id":1}')).facts
    assert facts.schema == FACTS
    [row] = facts.to_pylist()
    assert (row["order"], row["lane"], row["offset"], row["row"]) == (NOW_MS, 0, 0, 0)
    assert len(row["key"]) == 16
    assert row["note"] is None


def test_the_same_records_give_the_same_facts_whatever_parts_they_come_in():
    tick = tick_of((0, 4), (0, 2))
    values = [document(id=at) for at in range(6)]
    whole = rows_of(tick, records(0, 0, *values[:4]), records(1, 0, *values[4:]))
    parts = [
        rows_of(tick, records(0, 0, *values[:3])),
        rows_of(tick, records(0, 3, values[3]), records(1, 0, *values[4:])),
    ]
    assert whole.facts.to_pylist() == [row for part in parts for row in part.facts.to_pylist()]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("UInt64", [0, 1, 2**63 - 1, 2**63, 2**64 - 1]),
        ("Int64", [-(2**63), -1, 0, 2**63 - 1]),
        ("UInt8", [0, 127, 128, 255]),
        ("Int16", [-(2**15), 0, 2**15 - 1]),
    ],
)
def test_a_version_of_any_width_keeps_its_order(kind, values):
    schema = rows_schema(id="UInt64", version=kind)
    made = [document(id=1, version=value) for value in values]
    found = rows_of(
        tick_of((0, len(made))),
        records(0, 0, *made),
        rules=Rules(newest_column="version"),
        schema=schema,
    )
    assert found.order.tolist() == sorted(set(found.order.tolist()))
    assert len(found) == len(values)


@pytest.mark.parametrize(
    ("kind", "text", "order", "time_s"),
    [
        ("Date", "2026-09-20", 20716, 20716 * 86_400),
        ("Date32", "2026-09-20", 20716, 20716 * 86_400),
        ("DateTime", "2026-09-21 10:00:01", 1_789_984_801, 1_789_984_801),
        ("DateTime64(3)", "2026-09-21 10:00:01.250", 1_789_984_801_250, 1_789_984_801),
        ("DateTime64(6)", "2026-09-21 10:00:01.25", 1_789_984_801_250_000, 1_789_984_801),
        ("DateTime64(0)", "2026-09-21 10:00:01", 1_789_984_801, 1_789_984_801),
    ],
)
def test_a_time_column_says_which_row_is_the_newest_and_how_long_it_is_kept(
    kind, text, order, time_s
):
    schema = rows_schema(id="UInt64", at=kind)
    found = rows_of(
        tick_of((0, 1)),
        records(0, 0, document(id=1, at=text), times=[5]),
        rules=Rules(newest_column="at"),
        schema=schema,
    )
    assert found.order.tolist() == [order]
    assert found.time_s.tolist() == [time_s]


def test_retention_of_a_version_goes_by_the_record_s_timestamp():
    schema = rows_schema(id="UInt64", version="UInt32")
    found = rows_of(
        tick_of((0, 2)),
        records(0, 0, b'{"id":1,"version":3}', b'{"id":1,"version":4}', times=[5, NOW_MS]),
        rules=Rules(newest_column="version"),
        schema=schema,
    )
    assert found.order.tolist() == [4]
    assert found.notes[0].expired == 1


def test_a_record_is_kept_up_to_the_retention_of_the_tick_and_not_a_millisecond_longer():
    times = [NOW_MS - HOUR_MS, NOW_MS - HOUR_MS - 1, NOW_MS + 2000, NOW_MS + 2001]
    found = rows_of(
        tick_of((0, 4)),
        records(0, 0, *[b'{"id":1}'] * 4, times=times),
        rules=Rules(retention_hours=1, future_seconds_max=2),
    )
    assert found.order.tolist() == [times[0], times[2]]
    [note] = found.notes
    assert (note.rows, note.expired, note.future) == (2, 1, 1)
    [(offset, reason)] = note.letters
    assert offset == 3
    assert "ahead of the tick" in reason


def test_records_without_a_key_or_a_version_are_dead_letters():
    schema = rows_schema(id="UInt64", version="UInt32")
    values = [b'{"version":1}', b'{"id":1}', b'{"id":null,"version":1}', b'{"id":-1,"version":2}']
    found = rows_of(
        tick_of((0, 5)),
        records(0, 0, *values, b'{"id":1,"version":2}'),
        rules=Rules(newest_column="version"),
        schema=schema,
    )
    assert len(found) == 1
    letters = dict(found.notes[0].letters)
    assert sorted(letters) == [0, 1, 2, 3]
    assert "primary key" in letters[0]
    assert "which row is the newest" in letters[1]


def test_a_record_with_a_row_too_many_or_one_bad_row_is_a_dead_letter_as_a_whole():
    found = rows_of(
        tick_of((0, 3)), records(0, 0, b'[{"id":1},{"id":2}]', b'[{"id":3},{}]', b'[{"id":4}]')
    )
    assert found.row_id.tolist() == [tick_of((0, 3)).row_id(0, 2)]
    assert [offset for offset, _ in found.notes[0].letters] == [0, 1]


def test_rows_of_one_record_have_ids_that_follow_each_other():
    tick = tick_of((0, 2), rows_per_record=4)
    found = rows_of(tick, records(0, 0, b'[{"id":1},{"id":2}]', b'[{"id":3}]'))
    assert found.row_id.tolist() == [tick.row_id(0, 0, 0), tick.row_id(0, 0, 1), tick.row_id(0, 1)]


@pytest.mark.parametrize(
    ("kind", "marks", "deletes"),
    [
        ("UInt8", [0, 1, None], [False, True, False]),
        ("Bool", [False, True], [False, True]),
        ("String", ["", "yes"], [False, True]),
        ("LowCardinality(String)", ["", "yes"], [False, True]),
        ("Nullable(Int32)", [None, 0, -1], [False, False, True]),
    ],
)
def test_a_column_marks_deletes(kind, marks, deletes):
    values = [document(id=1, **({} if mark is None else {"gone": mark})) for mark in marks]
    found = rows_of(
        tick_of((0, len(values))),
        records(0, 0, *values),
        rules=Rules(delete_column="gone"),
        schema=rows_schema(id="UInt64", gone=kind),
    )
    assert found.is_delete.tolist() == deletes


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("UInt64", b"17", 17),
        ("UInt64", b'{"id":17,"other":1}', 17),
        ("Int32", b"-3", -3),
        ("String", b"\xff plain", "\xff"),
        ("String", b'{"id":"braces"}', "braces"),
        ("UUID", b"00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000007"),
        ("Date", b"2026-09-20", "2026-09-20"),
        ("FixedString(4)", b"ab", "ab"),
        ("Decimal(9, 2)", b"1.50", 1.5),
        ("Enum8('a' = 1, 'b' = 2)", b"b", "b"),
        ("UInt128", b"7", 7),
    ],
)
@pytest.mark.parametrize("empty", [None, b""])
def test_an_empty_value_deletes_the_key_of_its_kafka_key(kind, key, value, empty):
    schema = rows_schema(id=kind, text="String")
    given = document(id=value) if key != b"\xff plain" else None
    found = rows_of(
        tick_of((0, 2)),
        records(0, 0, empty, *filter(None, [given]), keys=[key, b"any"]),
        rules=Rules(empty_value_deletes=True),
        schema=schema,
    )
    assert found.notes[0].letters == ()
    assert found.is_delete.tolist() == ([True, False] if given else [True])
    if given:
        assert found.key[0] == found.key[1]


def test_empty_values_and_others_keep_their_order():
    found = rows_of(
        tick_of((0, 4), (0, 1)),
        records(0, 0, b'{"id":1}', None, b'{"id":2}', None, keys=[b"1", b"1", b"2", b"2"]),
        records(1, 0, None, keys=[b"3"]),
        rules=Rules(empty_value_deletes=True),
    )
    assert found.row_id.tolist() == sorted(found.row_id.tolist())
    assert found.is_delete.tolist() == [False, True, False, True, True]
    assert found.key[0] == found.key[1] != found.key[2] == found.key[3]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("UInt64", None),
        ("UInt64", b"seven"),
        ("UInt64", b"-1"),
        ("UInt64", b'1,"x":2'),
        ("UInt64", b'{"other":1}'),
        ("UInt64", b'{"id":'),
        ("UUID", b"\xff\xff"),
        ("Date", b"yesterday"),
    ],
)
def test_an_empty_value_whose_key_names_no_row_is_a_dead_letter(kind, key):
    found = rows_of(
        tick_of((0, 1)),
        records(0, 0, None, keys=[key]),
        rules=Rules(empty_value_deletes=True),
        schema=rows_schema(id=kind),
    )
    assert len(found) == 0
    assert [offset for offset, _ in found.notes[0].letters] == [0]


def test_a_key_of_several_columns_is_an_object():
    rules = Rules(primary_key=("id", "text"), empty_value_deletes=True)
    found = rows_of(
        tick_of((0, 3)),
        records(0, 0, None, b'{"id":1,"text":"a"}', None, keys=[b'{"text":"a","id":1}', b"", b"1"]),
        rules=rules,
    )
    assert found.key[0] == found.key[1]
    assert [offset for offset, _ in found.notes[0].letters] == [2]


def test_a_delete_without_a_time_column_has_the_record_s_time_in_the_column_s_unit():
    schema = rows_schema(id="UInt64", at="DateTime")
    found = rows_of(
        tick_of((0, 1)),
        records(0, 0, None, keys=[b"1"], times=[NOW_MS + 999]),
        rules=Rules(newest_column="at", empty_value_deletes=True),
        schema=schema,
    )
    assert found.order.tolist() == [NOW_MS // 1000]
    assert found.is_delete.tolist() == [True]


@pytest.mark.parametrize(("newest", "kept"), [(None, 0), ("version", 0), ("at", 1)])
def test_a_record_without_a_timestamp_is_a_dead_letter_where_its_retention_goes_by_that(
    newest, kept
):
    schema = rows_schema(id="UInt64", version="UInt32", at="DateTime")
    value = document(id=1, version=1, at=NOW_MS // 1000)
    found = rows_of(
        tick_of((0, 1)),
        records(0, 0, value, times=[-1]),
        rules=Rules(newest_column=newest),
        schema=schema,
    )
    assert len(found) == kept
    assert len(found.notes[0].letters) == 1 - kept
    assert found.notes[0].expired == 0


def test_protobuf_messages_have_the_name_of_the_upsert_table():
    folder = folder_of(orders="message orders { uint64 id = 1; string text = 2; }")
    message = message_class(folder, "orders")
    values = [message(id=1, text="a").SerializeToString(), b"\xff", message().SerializeToString()]
    reader = RowReading(tick_of((0, 3)), Rules(), SCHEMA, SettingAside(ProtobufRecords(folder)))
    found = reader.rows([records(0, 0, *values)])
    assert found.decoded.columns["id"].to_pylist() == [1, 0]
    assert [offset for offset, _ in found.notes[0].letters] == [1]


def test_row_batches_have_the_name_of_the_upsert_table_and_a_row_id_for_each_row():
    columns = (WrittenColumn("id", "UInt64"), WrittenColumn("text", "String"))
    tick = tick_of((5, 7), (0, 2), rows_per_record=3)

    def batch(*ids: int, table: str = "orders") -> bytes:
        return row_batch(columns, [{"id": each} for each in ids], table=table)

    reader = RowReading(tick, Rules(), SCHEMA, row_batches.decode)
    found = reader.rows(
        [
            records(0, 5, batch(1, 2), batch()),
            records(1, 0, batch(3, 4, 5, 6), batch(7, 8, 9)),
        ]
    )
    places = [(0, 5, 0), (0, 5, 1), (1, 1, 0), (1, 1, 1), (1, 1, 2)]
    assert found.row_id.tolist() == [tick.row_id(*place) for place in places]
    assert found.decoded.row.tolist() == [row for *_, row in places]
    assert {each.lane: [at for at, _ in each.letters] for each in found.notes} == {0: [], 1: [0]}
    other = reader.rows([records(0, 5, batch(1, table="t"))])
    assert [at for at, _ in other.notes[0].letters] == [5]


def test_records_cannot_fill_the_columns_of_sluice():
    found = rows_of(tick_of((0, 1)), records(0, 0, b'{"id":1,"_row_id":5,"_until":1,"_deleted":1}'))
    assert not found.decoded.columns.keys() & {"_row_id", "_until", "_deleted"}
    assert found.is_delete.tolist() == [False]


@pytest.mark.parametrize(
    ("kind", "of_s"),
    [
        (None, 1000),
        ("DateTime", 1),
        ("DateTime64(0)", 1),
        ("DateTime64(1, 'UTC')", 10),
        ("LowCardinality(DateTime64(6))", 10**6),
        ("DateTime64(9)", 10**9),
    ],
)
def test_an_order_tells_whether_its_time_is_before_a_day_in_any_unit(kind, of_s):
    day_s = 20_000 * 86_400
    since = order_since(kind, day_s)
    assert since == day_s * of_s
    # The last order of the day before is still of the last second of that day.
    assert (since - 1) // of_s == day_s - 1


@pytest.mark.parametrize("kind", ["Date", "Date32"])
def test_an_order_of_days_tells_whether_it_is_before_a_day(kind):
    assert order_since(kind, 20_000 * 86_400) == 20_000


def test_a_version_tells_no_time():
    assert order_since("UInt64", 86_400) == order_since("DateTime", 0) == ORDER_MIN
