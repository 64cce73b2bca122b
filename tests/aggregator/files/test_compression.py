"""Compression: one stream that any reader of its codec reads, the same for the same chunks."""

from __future__ import annotations

import gzip

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.compression import STREAMS, SUFFIXES

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
