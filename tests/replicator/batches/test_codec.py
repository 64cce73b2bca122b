"""Compression in Kafka's framings, compared with aiokafka's codecs."""

import struct

import pytest
from aiokafka import codec as oracle
from hypothesis import given
from hypothesis import strategies as st

from replicator.batches.codec import (
    DECOMPRESSED_BYTES_LIKELY,
    DECOMPRESSED_BYTES_MAX,
    BrokenPayload,
    Codec,
    DecompressesTooFar,
    compressed,
    decompressed,
)

DECODERS = {
    Codec.NONE: bytes,
    Codec.GZIP: oracle.gzip_decode,
    Codec.SNAPPY: oracle.snappy_decode,
    Codec.LZ4: oracle.lz4_decode,
    Codec.ZSTD: oracle.zstd_decode,
}
ENCODERS = {
    Codec.NONE: bytes,
    Codec.GZIP: oracle.gzip_encode,
    Codec.SNAPPY: oracle.snappy_encode,
    Codec.LZ4: oracle.lz4_encode,
    Codec.ZSTD: oracle.zstd_encode,
}


@given(
    st.sampled_from(Codec),
    st.binary(min_size=1, max_size=2000),
    st.integers(min_value=1, max_value=90),
)
def test_another_decoder_reads_what_is_compressed(codec, piece, times):
    payload = piece * times
    assert DECODERS[codec](compressed(codec, memoryview(payload))) == payload


@given(
    st.sampled_from(Codec), st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=20)
)
def test_payloads_of_another_encoder_are_read_one_behind_the_other(codec, pieces):
    payloads = [memoryview(ENCODERS[codec](piece)) for piece in pieces]
    assert decompressed(codec, payloads) == b"".join(pieces)


def test_snappy_without_the_xerial_framing_is_read():
    raw = oracle.snappy_encode(b"abc" * 50, xerial_compatible=False)
    assert decompressed(Codec.SNAPPY, [memoryview(raw)]) == b"abc" * 50


def test_lz4_frames_have_independent_blocks_as_java_demands():
    frame = compressed(Codec.LZ4, b"abc" * 200_000)
    magic, flags = struct.unpack_from("<IB", frame)
    assert magic == 0x184D2204
    assert flags >> 6 == 1
    assert flags & 0x20


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_garbage_is_an_error_that_names_the_codec(codec):
    with pytest.raises(BrokenPayload, match=codec.name.lower()):
        decompressed(codec, [memoryview(b"\x99garbage that is not compressed")])


def test_an_unknown_codec_is_named():
    with pytest.raises(BrokenPayload, match="codec 7 is none of none, gzip"):
        decompressed(7, [memoryview(b"")])


SQUEEZING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@pytest.mark.parametrize("codec", SQUEEZING)
def test_payloads_decompress_up_to_the_limit_and_no_further(codec):
    half = memoryview(compressed(codec, bytes(DECOMPRESSED_BYTES_MAX // 2)))
    assert len(decompressed(codec, [half, half])) == DECOMPRESSED_BYTES_MAX
    more = memoryview(compressed(codec, b"."))
    with pytest.raises(DecompressesTooFar, match="more than 100 MiB"):
        decompressed(codec, [half, more, half])


@pytest.mark.parametrize("codec", SQUEEZING)
@pytest.mark.parametrize("more", [-1, 0, 1, DECOMPRESSED_BYTES_LIKELY])
def test_payloads_that_decompress_to_more_than_is_likely_are_read_whole(codec, more):
    plain = b"." * (DECOMPRESSED_BYTES_LIKELY + more)
    assert decompressed(codec, [memoryview(compressed(codec, plain))]) == plain
