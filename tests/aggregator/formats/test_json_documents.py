"""JSON records against a decoder that takes one record at a time."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aggregator.formats import json_reader
from aggregator.formats.json_documents import decode
from tests.aggregator.formats.json_oracle import NAMES, SCHEMA, expected, found
from tests.aggregator.formats.slices import slice_of

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
