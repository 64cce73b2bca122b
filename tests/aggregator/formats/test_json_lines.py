"""Documents on lines of their own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.json_lines import json_lines
from tests.aggregator.formats.slices import slice_of

spaces = st.text(" \t\r\n", max_size=4).map(str.encode)
inner = st.text('{}[]":,\\\n \t1a', max_size=6).map(str.encode)


@given(st.lists(st.none() | st.tuples(spaces, inner, spaces), max_size=6).filter(bool))
def test_each_object_is_on_one_line_without_the_space_around_it(parts):
    values = [part if part is None else part[0] + b"{" + part[1] + b"}" + part[2] for part in parts]
    found, reasons = json_lines([slice_of(values)])
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
    found, reasons = json_lines(
        [slice_of([b'{"a":1}', b' [ {"a":\n2} , {"a":3}]\n', b"[]", b'{"a":4}'])]
    )
    assert found.text().split(b"\n") == [b'{"a":1}', b'{"a":\t2}', b'{"a":3}', b'{"a":4}', b""]
    assert found.record.tolist() == [0, 1, 1, 3]
    assert found.row.tolist() == [0, 0, 1, 0]
    assert reasons == {}


def test_values_that_hold_no_document_are_named():
    values = [b"", b" \r\n", b"5", b"{", b"[1]", b"[{}", b'{"a":1}', b"{} x"]
    found, reasons = json_lines([slice_of(values), slice_of([b"x"])])
    assert found.record.tolist() == [6]
    assert sorted(reasons) == [0, 1, 2, 3, 4, 5, 7, 8]


def test_a_value_with_much_white_space_is_trimmed():
    found, _ = json_lines([slice_of([b" " * 500 + b"{}" + b"\r\n" * 500])])
    assert found.text() == b"{}\n"


def test_no_records_are_no_lines():
    assert json_lines([])[0].text() == b""
    assert json_lines([slice_of([None])])[0].text() == b""


def test_documents_are_taken_by_index_and_by_range():
    found, _ = json_lines([slice_of([b'{"a":%d}' % at for at in range(5)])])
    assert found.between(1, 3).text() == b'{"a":1}\n{"a":2}\n'
    assert found.between(1, 4).at(np.array([0, 2])).text() == b'{"a":1}\n{"a":3}\n'
    assert found.at(np.array([4])).record.tolist() == [4]
