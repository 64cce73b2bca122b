"""JSON documents: lines and values as they are read, and those that are none."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aggregator.formats import json_depth, json_reader
from aggregator.formats.json_depth import too_deep
from aggregator.formats.json_documents import decode
from aggregator.formats.json_flaws import json_flaws
from aggregator.formats.json_lines import read_json_lines
from tests.aggregator.formats.json_oracle import NAMES, SCHEMA, expected, found
from tests.aggregator.formats.slices import slice_of

# -- JSON records against a decoder that takes one record at a time.

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-200, 300),
    st.sampled_from([2**31, -(2**31) - 1, 2**63, 2**64 - 1, 2**64, -1]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(max_size=6),
    st.sampled_from(
        ["5", "-1", "true", "null", "[1]", '{"a": 1}', "NaN", '"', "\\", "\n", "é", "😀"]
    ),
)
right = st.fixed_dictionaries(
    {},
    optional={
        "number": st.integers(0, 2**64 - 1),
        "small": st.integers(-128, 127),
        "flag": st.one_of(st.booleans(), st.integers(0, 255)),
        "text": st.text(max_size=8),
        "real": st.one_of(st.none(), st.integers(-9, 9), st.floats(-1e300, 1e300)),
        "list": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
        "texts": st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=3),
        "kind": st.sampled_from(["5", "a", "true"]),
        "unknown": st.recursive(
            scalars,
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=4,
        ),
    },
)
wrong = st.dictionaries(
    st.sampled_from(NAMES), st.one_of(scalars, st.lists(scalars, max_size=3)), max_size=4
)
objects = st.one_of(right, right, wrong)


@st.composite
def written(draw):
    """Returns a JSON text, with white space of any kind."""
    text = json.dumps(
        draw(st.one_of(objects, st.lists(objects, max_size=3), scalars)),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, None, 1])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r\n")])),
    ).encode()
    return (
        draw(st.sampled_from([b"", b"", b" ", b"\n\t\r\n "]))
        + text
        + draw(st.sampled_from([b"", b"", b"\n", b"\r\n", b" \n\n\n "]))
    )


@st.composite
def damaged(draw):
    """Returns a JSON text with one byte more, less, or another one."""
    text = draw(written())
    at = draw(st.integers(0, max(len(text) - 1, 0)))
    octet = draw(st.sampled_from([b"", *[b"%c" % each for each in b'{}[],:"\\\n 1-n\xff']]))
    return text[:at] + octet + text[at + draw(st.integers(0, 1)) :]


TRAPS = [
    b'{"number":1}{"number":2}',
    b"",
    b" ",
    b"null",
    b"[1]",
    b"5",
    b"[]",
    b"[null]",
    b"{}",
    b'{"number":"5"}',
    b'{"number":-1}',
    b'{"number":1.5}',
    b'{"number":1e3}',
    b'{"text":5}',
    b'{"text":true}',
    b'{"text":[1]}',
    b'{"text":{"a":1}}',
    b'{"texts":["x",5]}',
    b'{"number":1,"number":2}',
    b'{"text":"\\ud800"}',
    b'{"unknown":"\\ud800"}',
    b'{"text":"\\ud83d\\ude00"}',
    b'{"text":"\xff"}',
    b'{"text":"a\nb"}',
    b'{"number":\n1}',
    b'{"number":NaN}',
    b'\xef\xbb\xbf{"number":1}',
    b'{"number":1,}',
    b'{"number":',
    b'{"small":1}}',
    b'{"text":"}',
    b'{":1}',
    b'{"number":1}\n{"_offset":5}',
    b'{"\\u0074ext":5}',
    b'{"unknown":{"text":5}}',
    b'{"flag":true}',
    b'{"flag":2}',
    b'{"small":128}',
    b'{"unknown":1e400}',
    b'{"real":18446744073709551615}',
    b'{"real":9007199254740993}',
]
values = st.lists(
    st.one_of(written(), written(), damaged(), st.sampled_from(TRAPS), st.none()),
    min_size=1,
    max_size=12,
)


@settings(max_examples=2 * settings.default.max_examples)
@given(values)
@example([*TRAPS, b'{"number":7}'])
@example([b'{"number":', b'{"small":1}}', b'{"number":1}{"number":2}'])
@example([b'{"text":"}', b'{":1}'])
def test_records_are_decoded_as_one_at_a_time(values):
    assert found(decode([slice_of(values, first=3)], SCHEMA)) == expected(values, first=3)


@given(values, values)
def test_slices_of_different_fetches_are_one_block(before, after):
    slices = [slice_of(before), slice_of(after, first=len(before), codec=3)]
    assert found(decode(slices, SCHEMA)) == expected([*before, *after])


@given(values, st.integers(1, 4))
def test_halving_finds_the_same_bad_records(values, examined):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "EXAMINED_MAX", examined)
        assert found(decode([slice_of(values)], SCHEMA)) == expected(values)


# -- Documents on lines of their own.

spaces = st.text(" \t\r\n", max_size=4).map(str.encode)
inner = st.text('{}[]":,\\\n \t1a', max_size=6).map(str.encode)


@given(st.lists(st.none() | st.tuples(spaces, inner, spaces), max_size=6).filter(bool))
def test_each_object_is_on_one_line_without_the_space_around_it(parts):
    values = [part if part is None else part[0] + b"{" + part[1] + b"}" + part[2] for part in parts]
    found, reasons = read_json_lines([slice_of(values)])
    expected = [b"{" + part[1].replace(b"\n", b"\t") + b"}" for part in parts if part]
    lines = found.text().splitlines(keepends=True) if b"\r" not in found.text() else None
    whole = found.text().split(b"\n")
    assert whole[-1] == b""
    assert [line.strip(b" \t\r") for line in whole[:-1]] == [
        line.strip(b" \t\r") for line in expected
    ]
    assert lines is None or len(lines) == len(expected)
    assert found.record.tolist() == [at for at, part in enumerate(parts) if part]
    assert reasons == {}


def test_elements_of_an_array_are_rows_of_their_record():
    found, reasons = read_json_lines(
        [slice_of([b'{"a":1}', b' [ {"a":\n2} , {"a":3}]\n', b"[]", b'{"a":4}'])]
    )
    assert found.text().split(b"\n") == [b'{"a":1}', b'{"a":\t2}', b'{"a":3}', b'{"a":4}', b""]
    assert found.record.tolist() == [0, 1, 1, 3]
    assert found.row.tolist() == [0, 0, 1, 0]
    assert reasons == {}


def test_values_that_hold_no_document_are_named():
    values = [b"", b" \r\n", b"5", b"{", b"[1]", b"[{}", b'{"a":1}', b"{} x"]
    found, reasons = read_json_lines([slice_of(values), slice_of([b"x"])])
    assert found.record.tolist() == [6]
    assert sorted(reasons) == [0, 1, 2, 3, 4, 5, 7, 8]


def test_a_value_with_much_white_space_is_trimmed():
    found, _ = read_json_lines([slice_of([b" " * 500 + b"{}" + b"\r\n" * 500])])
    assert found.text() == b"{}\n"


def test_no_records_are_no_lines():
    assert read_json_lines([])[0].text() == b""
    assert read_json_lines([slice_of([None])])[0].text() == b""


def test_documents_are_taken_by_index_and_by_range():
    found, _ = read_json_lines([slice_of([b'{"a":%d}' % at for at in range(5)])])
    assert found.between(1, 3).text() == b'{"a":1}\n{"a":2}\n'
    assert found.between(1, 4).at(np.array([0, 2])).text() == b'{"a":1}\n{"a":3}\n'
    assert found.at(np.array([4])).record.tolist() == [4]


# -- JSON flaws: what Python's reader refuses is refused, and nothing else but half surrogates.

LIKELY = st.text('{}[]",:\\u0a1-.eEtrufalsn \n\t\x01é', max_size=12).map(str.encode)
SOUND = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
).map(lambda found: json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass"))
VALUES = st.lists(st.none() | st.binary(max_size=6) | LIKELY | SOUND, min_size=1, max_size=12)


def is_json(value):
    def refuse(name):
        raise ValueError(name)

    try:
        found = json.loads(value.decode(), parse_constant=refuse)
        json.dumps(found, ensure_ascii=False).encode()  # fails at half a surrogate pair
    except ValueError:
        return False
    return True


@given(VALUES)
@example([b'{"a":1}', None, b"\xff", b'{"b":2}{}'])
@example([b'{"a":', b"1}"])
@example([b'"\xff"', b"1"])
@example([b'"\xc3"', b'"\xa9"', b'"\xed\xa0\x80"'])
def test_values_without_a_flaw_are_those_that_pythons_reader_takes(values):
    found = json_flaws(slice_of(values))
    assert sorted(found) == [
        at for at, value in enumerate(values) if value is not None and not is_json(value)
    ]
    assert all(reason.startswith("no JSON: ") for reason in found.values())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "no JSON: Input data was truncated"),
        (b'{"a":1}x', "no JSON: JSON is malformed: trailing characters (byte 8)"),
        (b"\xef\xbb\xbf{}", "no JSON: JSON is malformed: invalid character (byte 0)"),
        (b"[" * 301 + b"]" * 301, "no JSON: nested more than 300 deep"),
        (b"[" * 99_999, "no JSON: nested more than 300 deep"),
    ],
)
def test_a_flaw_is_named(value, reason):
    assert json_flaws(slice_of([b"[1]", value, b"{}"])) == {1: reason}


def test_a_document_at_the_greatest_depth_has_no_flaw():
    assert json_flaws(slice_of([b"[" * 300 + b"]" * 300])) == {}


# -- JSON depth: the same answer as counting brackets outside strings, one by one.


@given(st.lists(st.none() | st.text('[]{}"\\x,', max_size=25).map(str.encode), max_size=5))
def test_depth_is_that_of_brackets_outside_strings(documents):
    before, json_depth.DEPTH_MAX = json_depth.DEPTH_MAX, 3
    try:
        found = too_deep(pa.array(documents, pa.binary()))
    finally:
        json_depth.DEPTH_MAX = before
    assert found == [at for at, each in enumerate(documents) if each and depth(each.decode()) > 3]


def depth(document):
    """Returns the most brackets that are open at once."""
    most = opened = 0
    in_string = is_escaped = False
    for character in document:
        if in_string:
            in_string = is_escaped or character != '"'
            is_escaped = not is_escaped and character == "\\"
        elif character == '"':
            in_string = True
        else:
            opened += (character in "{[") - (character in "}]")
            most = max(most, opened)
    return most
