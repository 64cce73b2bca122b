"""Line files, and the compression of whole files."""

from __future__ import annotations

import gzip
import json

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.compression import STREAMS, SUFFIXES
from aggregator.files.line_file import LineFile, separated, write_json_lines
from tests.aggregator.files.written_files import CUTS, RECORDS, slices, written
from tests.aggregator.formats.slices import slice_of

# -- Line files: the values and nothing else, whatever is in them.

SPACE = st.sampled_from(["", " ", "\n", "\r\n", "\t", "\r"])
DOCUMENTS = st.builds(
    lambda found, left, right, indent: left + json.dumps(found, indent=indent) + right,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    ),
    SPACE,
    SPACE,
    st.sampled_from([None, 0, 2]),
)


def with_bars(records):
    return separated(records, b"||")


@given(RECORDS, CUTS)
def test_bytes_are_the_values_with_a_separator_behind_each_but_null_ones(records, cuts):
    data = written(LineFile(with_bars, STREAMS["none"](), chunk_bytes=40), slices(records, cuts))
    values = [each.value for each in records if each.value is not None]
    assert data == b"".join(value + b"||" for value in values)


@pytest.mark.parametrize("codec", STREAMS)
@given(records=RECORDS, cuts=CUTS)
def test_the_same_records_are_the_same_bytes_however_they_come_in(codec, records, cuts):
    at_once = written(LineFile(with_bars, STREAMS[codec](), chunk_bytes=40), slices(records))
    assert (
        written(LineFile(with_bars, STREAMS[codec](), chunk_bytes=40), slices(records, cuts))
        == at_once
    )


@given(st.lists(st.none() | DOCUMENTS, min_size=1, max_size=10))
def test_each_document_is_a_line_and_only_line_breaks_become_spaces(documents):
    values = [None if each is None else each.encode() for each in documents]
    lines = written(
        LineFile(write_json_lines, STREAMS["none"](), chunk_bytes=40), [slice_of(values)]
    )
    assert lines == b"".join(
        (b"null" if each is None else each.translate(bytes.maketrans(b"\n\r", b"  "))) + b"\n"
        for each in values
    )
    assert [json.loads(each) for each in lines.split(b"\n")[:-1]] == [
        None if each is None else json.loads(each) for each in documents
    ]


def test_a_file_without_records_is_empty():
    assert written(LineFile(write_json_lines, STREAMS["none"](), chunk_bytes=40), []) == b""


# -- Compression: one stream that any reader of its codec reads, the same for the same chunks.

DECOMPRESSED = {
    "none": bytes,
    "gzip": gzip.decompress,
    "zstd": lambda data: bytes(cramjam.zstd.decompress(data)),
    "lz4": lambda data: bytes(cramjam.lz4.decompress(data)),
}


def stream(codec, chunks):
    compressor = STREAMS[codec]()
    return b"".join([*map(compressor.compress, chunks), compressor.finish()])


@pytest.mark.parametrize("codec", STREAMS)
@given(chunks=st.lists(st.binary(min_size=1, max_size=100), max_size=5))
def test_a_stream_holds_all_chunks(codec, chunks):
    data = stream(codec, chunks)
    assert DECOMPRESSED[codec](data) == b"".join(chunks)
    assert data == stream(codec, chunks)


def test_gzip_tells_no_time():
    assert stream("gzip", [b"x"])[4:8] == bytes(4)


def test_each_codec_has_a_suffix():
    assert set(SUFFIXES) == set(STREAMS)
