"""Rewriting of datums: they are what fastavro writes of the values that it reads by both
schemas."""

import copy
import io
import json

import fastavro
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.avro_projection import projection
from aggregator.formats.avro_rewriting import rewritten
from aggregator.formats.avro_schema import avro_type
from tests.aggregator.formats.datums import cursors_over, encoded

WIDER = {"int": ["long", "float", "double"], "long": ["float", "double"], "float": ["double"]}
WIDER |= {"string": ["bytes"], "text": ["string", "bytes"]}
SCALARS = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**50), 2**50),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=9),
    "bytes": st.binary(max_size=9),
    "boolean": st.booleans(),
    "null": st.none(),
    # Bytes that are a text.
    "text": st.text(max_size=9).map(str.encode),
}
SYMBOLS = ["A", "B", "C"]
APART = {"int": ["int", "long", "double"], "string": ["string"], "boolean": ["boolean"]}
APART |= {"null": ["null"]}
DEFAULTS = [("string", "dé"), (["null", "int"], None), ("double", 1.5)]
DEFAULTS += [({"type": "array", "items": "int"}, [1, -2]), ({"type": "map", "values": "int"}, {})]


@st.composite
def evolutions(draw, depth, path):
    """Draws a type, one that its values become, and a strategy of values.

    Args:
        path: of the value, which names records.
    """
    kinds = ["scalar"] * 3 + ["enum"]
    kinds += ["record", "array", "map", "union", "branch", "branches"] * bool(depth)
    match draw(st.sampled_from(kinds)):
        case "record":
            return draw(records(depth, path))
        case "array":
            written, wanted, values = draw(
                evolutions(depth - 1, path).filter(lambda each: each[0] != "null")
            )
            lists = st.lists(values, max_size=3)
            return {"type": "array", "items": written}, {"type": "array", "items": wanted}, lists
        case "map":
            written, wanted, values = draw(evolutions(depth - 1, path))
            maps = st.dictionaries(st.text(max_size=3), values, max_size=3)
            return {"type": "map", "values": written}, {"type": "map", "values": wanted}, maps
        case "union":
            written, wanted, values = draw(
                evolutions(depth - 1, path).filter(lambda each: not isinstance(each[0], list))
            )
            if written == "null":
                return written, wanted, values
            return ["null", written], ["null", wanted], st.none() | values
        case "enum":
            symbols = draw(st.lists(st.sampled_from([*SYMBOLS, "D"]), unique=True, min_size=1))
            enum = {"type": "enum", "name": f"e{path}", "symbols": SYMBOLS}
            wanted = {**enum, "symbols": symbols, "default": draw(st.sampled_from(symbols))}
            return enum, wanted, st.sampled_from(SYMBOLS)
        case "branch":
            written, wanted, values = draw(
                evolutions(depth - 1, path).filter(
                    lambda each: "null" not in each[:2] and not isinstance(each[1], list)
                )
            )
            if isinstance(written, list):
                return written, wanted, values
            return written, draw(st.permutations(["null", wanted])), values
        case "branches":
            written = draw(st.lists(st.sampled_from([*APART]), unique=True, min_size=1))
            wanted = [draw(st.sampled_from(APART[each])) for each in written]
            wanted += [each for each in APART if each not in written and draw(st.booleans())]
            values = st.one_of([SCALARS[each] for each in written])
            return written, draw(st.permutations(wanted)), values
    written = draw(st.sampled_from([*SCALARS]))
    if written == "text":
        return "bytes", draw(st.sampled_from(["bytes", *WIDER[written]])), SCALARS[written]
    return written, draw(st.sampled_from([written, *WIDER.get(written, [])])), SCALARS[written]


@st.composite
def records(draw, depth=2, path="r"):
    written, wanted, values = [], [], {}
    for at in range(draw(st.integers(1, 4))):
        before, after, found = draw(evolutions(depth - 1, f"{path}{at}"))
        written.append({"name": f"f{at}", "type": before})
        values[f"f{at}"] = found
        if draw(st.integers(0, 4)):
            is_renamed = draw(st.booleans())
            names = {"name": f"n{at}", "aliases": [f"f{at}"]} if is_renamed else {"name": f"f{at}"}
            wanted.append({**names, "type": after})
    for at in range(draw(st.integers(0, 2))):
        kind, default = draw(st.sampled_from(DEFAULTS))
        wanted.append({"name": f"d{at}", "type": kind, "default": default})
    if not wanted:
        wanted.append({"name": "d", "type": "int", "default": 7})
    wanted = draw(st.permutations(wanted))
    names = {"name": f"new{path}", "aliases": [path]} if draw(st.booleans()) else {"name": path}
    return (
        {"type": "record", "name": path, "fields": written},
        {"type": "record", **names, "fields": list(wanted)},
        st.fixed_dictionaries(values),
    )


def parsed(schema):
    return fastavro.parse_schema(copy.deepcopy(schema))


def type_of(schema):
    return avro_type(json.dumps(schema).encode())


@settings(max_examples=100, deadline=None)
@given(records(), st.data())
def test_rewritten_datums_are_those_of_what_fastavro_reads_by_both_schemas(evolution, data):
    written, wanted, values = evolution
    rows = data.draw(st.lists(values, min_size=1, max_size=120))
    datums = [encoded(written, row) for row in rows]
    how = projection(type_of(written), type_of(wanted))
    assert how is not None
    cursors = cursors_over(datums)
    found = rewritten(how, type_of(written), cursors).to_pylist()
    assert not cursors.is_broken.any() and (cursors.at == cursors.end).all()
    for datum, again in zip(datums, found, strict=True):
        resolved = fastavro.schemaless_reader(io.BytesIO(datum), parsed(written), parsed(wanted))
        assert again == encoded(wanted, resolved)


@settings(max_examples=50, deadline=None)
@given(records(), st.data())
def test_a_datum_that_is_cut_is_broken_and_changes_no_other(evolution, data):
    written, wanted, values = evolution
    rows = data.draw(st.lists(values, min_size=2, max_size=20))
    datums = [encoded(written, row) for row in rows]
    if not datums[0]:
        return
    kind = type_of(written)
    how = projection(kind, type_of(wanted))
    cursors = cursors_over(datums)
    whole = rewritten(how, kind, cursors).to_pylist()
    cut = cursors_over([datums[0][:-1], *datums[1:]])
    assert rewritten(how, kind, cut).to_pylist()[1:] == whole[1:]
    assert cut.is_broken.tolist() == [True] + [False] * (len(rows) - 1)


def test_numbers_are_widened_as_java_widens_them():
    values = np.array([2**53 + 1, -(2**62), 3])
    datums = [encoded("long", int(each)) for each in values]
    how = projection(type_of("long"), type_of("double"))
    found = rewritten(how, type_of("long"), cursors_over(datums)).to_pylist()
    assert found == [encoded("double", float(each)) for each in values]


def test_bytes_that_are_no_text_are_broken_and_change_no_other():
    how = projection(type_of("bytes"), type_of("string"))
    cursors = cursors_over([encoded("bytes", each) for each in (b"a", b"\xff\xff", b"b")])
    found = rewritten(how, type_of("bytes"), cursors).to_pylist()
    assert (found[0], found[2]) == (encoded("string", "a"), encoded("string", "b"))
    assert cursors.is_broken.tolist() == [False, True, False]
