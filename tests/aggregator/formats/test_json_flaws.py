"""JSON flaws: what Python's reader refuses is refused, and nothing else but half surrogates."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.formats.json_flaws import json_flaws
from tests.aggregator.formats.slices import slice_of

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
