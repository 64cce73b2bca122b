"""Tuples and Maps in Protobuf messages, by both readers."""

from datetime import UTC, datetime

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.protobuf_records import ProtobufRecords
from aggregator.verifier.plain_records import ProtobufRows
from replicator.config.schema_folder import schema_folder
from tests.aggregator.formats.protos import folder_of, message_class
from tests.aggregator.formats.slices import slice_of, table
from tests.aggregator.verifier.test_plain_records import compared

FOLDER = folder_of(
    t="""
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    enum Color { RED = 0; GREEN = 1; }
    message Place {
      double x = 1;
      optional string name = 2;
      Color color = 3;
      google.protobuf.Timestamp at = 4;
      google.protobuf.Int64Value height = 5;
      repeated uint32 codes = 6;
      map<string, Place> near = 7;
      oneof choice { bytes raw = 8; bool flag = 9; }
    }
    message t {
      uint64 id = 1;
      Place place = 2;
      repeated Place places = 3;
      map<int32, string> names = 4;
      map<string, Place> by_name = 5;
      map<bool, Color> colors = 6;
      map<string, int64> texts = 7;
    }
    """
)
PLACE = (
    "Tuple(x Float64, name Nullable(String), color String, at DateTime64(9), "
    "height Nullable(Int32), codes Array(UInt16), near Map(String, Tuple(x Float64)), raw String)"
)
SCHEMA = table(
    id="UInt64",
    place=PLACE,
    places=f"Array({PLACE})",
    names="Map(Int32, LowCardinality(String))",
    by_name=f"Map(String, {PLACE})",
    colors="Map(Bool, Int8)",
    texts="Map(UInt16, Int64)",
)
MESSAGE = message_class(FOLDER, "t")
DECODE = ProtobufRecords(FOLDER)

small = st.integers(0, 1000)
place: st.SearchStrategy[dict] = st.deferred(
    lambda: st.fixed_dictionaries(
        {},
        optional={
            "x": st.floats(allow_nan=False),
            "name": st.text(max_size=3),
            "color": st.sampled_from([0, 1, 7]),
            "at": st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
            "height": st.builds(dict, value=small),
            "codes": st.lists(small, max_size=3),
            "near": st.dictionaries(st.text(max_size=2), place, max_size=1),
            "raw": st.binary(max_size=3),
            "flag": st.booleans(),
        },
    )
)
rows = st.fixed_dictionaries(
    {"id": small},
    optional={
        "place": place,
        "places": st.lists(place, max_size=2),
        "names": st.dictionaries(st.integers(-(2**31), 2**31 - 1), st.text(max_size=3), max_size=3),
        "by_name": st.dictionaries(st.text(max_size=2), place, max_size=2),
        "colors": st.dictionaries(st.booleans(), st.sampled_from([0, 1]), max_size=2),
        "texts": st.dictionaries(small.map(str), small, max_size=3),
    },
)


def decoded(*messages):
    return DECODE([slice_of([each.SerializeToString() for each in messages])], SCHEMA)


@given(st.lists(rows, min_size=1, max_size=3))
@settings(deadline=None)
def test_both_readers_say_the_same(drawn):
    values = [MESSAGE(**row).SerializeToString() for row in drawn]
    found, rows = compared(SCHEMA, values, DECODE, ProtobufRows(FOLDER))
    assert found.dead == ()
    assert (rows.differences, rows.doubts) == ([], [])
    assert found.columns["id"].to_pylist() == [row["id"] for row in drawn]


def test_elements_are_found_by_name_and_those_not_set_are_defaults():
    message = MESSAGE(place={"x": 1.5, "codes": [1, 2], "height": {"value": 7}})
    [row] = decoded(message).columns["place"].to_pylist()
    nothing = {"name": None, "color": b"RED", "at": 0, "near": [], "raw": b""}
    assert row == {"x": 1.5, "codes": [1, 2], "height": 7, **nothing}
    assert MessageToDict(message)["place"]["height"] == "7"


def test_a_message_that_is_not_set_is_missing():
    found = decoded(MESSAGE(id=1), MESSAGE(id=2, place={}))
    assert found.is_missing("place").tolist() == [True, False]
    assert found.columns["place"][1].as_py()["x"] == 0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"place": {"codes": [70000]}}, "place.codes: 70000 is no UInt16"),
        ({"texts": {"65536": 1}}, "texts.key: '65536' is no UInt16"),
        ({"texts": {"x": 1}}, "texts.key: 'x' is no UInt16"),
        ({"places": [{}, {"height": {"value": 2**40}}]}, "places.height: 1099511627776 is no"),
        ({"place": {"at": {"seconds": 2**36}}}, "place.at: "),
    ],
)
def test_a_value_that_does_not_fit_makes_its_record_dead_and_no_other(fields, why):
    found = decoded(MESSAGE(id=1), MESSAGE(id=2, **fields), MESSAGE(id=3))
    assert [each.offset for each in found.dead] == [1]
    assert why in found.dead[0].reason
    assert found.columns["id"].to_pylist() == [1, 3]


def test_a_number_that_a_closed_enum_does_not_have_makes_its_record_dead(tmp_path):
    """The library parts it from the other fields, so what stands there is not known."""
    for name, syntax, label in ("t", "proto2", "optional"), ("open", "proto3", ""):
        (tmp_path / f"{name}.proto").write_text(
            f'syntax = "{syntax}"; package {name}; enum Color {{ RED = 0; }}'
            f"message Inner {{ repeated Color colors = 1; }}"
            f"message {name} {{ {label} Inner inner = 1; }}"
        )
    folder = schema_folder(tmp_path, "protobuf")
    value = message_class(folder, "open.open")(inner={"colors": [0, 7]}).SerializeToString()
    schema = table(inner="Tuple(colors Array(String))")
    [dead] = ProtobufRecords(folder)([slice_of([value])], schema).dead
    assert dead.reason.startswith("inner.colors: an unknown value of field 1 is no ")


def test_an_element_that_is_not_set_has_the_default_of_its_message():
    folder = folder_of(
        syntax="proto2",
        t="""
        message Inner {
          optional int32 x = 1 [default = 7];
          oneof any { int32 y = 2 [default = 3]; }
        }
        message t { optional Inner inner = 1; repeated Inner many = 2; }
        """,
    )
    element = "Tuple(x Int32, y Nullable(Int32))"
    schema = table(inner=element, many=f"Array({element})")
    values = [
        message_class(folder, "t")(**row).SerializeToString()
        for row in ({"inner": {}, "many": [{"x": 0}, {"y": 1}]}, {})
    ]
    found, rows = compared(schema, values, ProtobufRecords(folder), ProtobufRows(folder))
    assert found.columns["inner"].to_pylist() == [{"x": 7, "y": None}, None]
    assert found.columns["many"].to_pylist() == [[{"x": 0, "y": None}, {"x": 7, "y": 1}], []]
    assert (rows.differences, rows.doubts) == ([], [])


def test_a_message_that_only_the_columns_reader_takes_is_dead_and_no_other():
    """A message within one of its own type is passed by that reader, whatever is in it."""
    folder = folder_of(
        t="""
        message Node { string name = 1; Node next = 2; }
        message t { uint64 id = 1; Node node = 2; oneof any { int32 one = 3; int32 other = 4; } }
        """
    )
    message = message_class(folder, "t")
    no_text = b"\x12\x05\x12\x03\x0a\x01\xff"
    deep = message(id=3)
    node = deep.node
    for _ in range(100):
        node = node.next
    node.name = "x"
    both = message(one=1).SerializeToString() + message(other=2).SerializeToString()
    values = [message(id=1, node={"name": "a"}).SerializeToString(), no_text + both]
    values += [deep.SerializeToString(), message(id=4).SerializeToString()]
    for columns in {"node": "Tuple(name String)"}, {"one": "Int32"}:
        schema = table(id="UInt64", **columns)
        found = ProtobufRecords(folder)([slice_of(values)], schema)
        passed = 2 if "one" in columns else None
        assert [each.offset for each in found.dead] == [at for at in (1, 2) if at != passed]
        assert found.dead[0].reason.endswith("String field had bad UTF-8")
        assert found.columns["id"].to_pylist() == [1, 4] if passed is None else [1, 3, 4]
