"""Open objects: what they take in memory while records are written is counted."""

from __future__ import annotations

import gc
import os
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from aggregator.files.admission import Admitted
from aggregator.files.parquet_file import ROW_GROUP_BYTES
from aggregator.loader.dead_letters import dead_letters
from aggregator.loader.object_layout import ObjectLayout
from aggregator.s3.open_object import OpenObject
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import ObjectFeed
from replicator.config.schema_folder import SchemaFolder
from tests.aggregator.formats.test_record_slice import sliced
from tests.replicator.config.any_feed import ANY_OBJECT_FEED

PLACE = TopicPartition("flights", 0)
SCHEMA = b'{"type":"record","name":"R","fields":[{"name":"name","type":"string"}]}'
POOLS = []
"""Pools that buffers of earlier tests may be of."""


@contextmanager
def own_pool():
    """Memory pool whose peak is that of the block alone."""
    before = pa.default_memory_pool()
    POOLS.append(pa.proxy_memory_pool(before))
    pa.set_memory_pool(POOLS[-1])
    yield POOLS[-1]
    pa.set_memory_pool(before)


@pytest.fixture
def pool():
    """Memory pool whose peak is that of the test alone."""
    with own_pool() as found:
        yield found


def text(size):
    return os.urandom(size // 2 + 1).hex()[:size].encode()


SHAPES = {
    "headers": (64, lambda: (None, b'{"name":"x"}', (("h", text(4096)),))),
    "keys": (64, lambda: (text(4096), b'{"name":"x"}', ())),
    "values": (3, lambda: (None, b'{"name":"%s"}' % text(100_000), ())),
    "small": (2500, lambda: (b"k", b'{"name":"%s"}' % text(10), ())),
}
KINDS = {
    "parquet": {"file": "parquet"},
    "typed": {
        "file": "parquet",
        "format": "json",
        "schemas": SchemaFolder(Path(), {"flights.avsc": SCHEMA}),
    },
    "lines": {"file": "json_lines", "codec": "none"},
}


def opened(settings, admit=None):
    feed = ObjectFeed.model_validate(
        {
            **ANY_OBJECT_FEED,
            "name": "f",
            "region": "east",
            "clusters": ["east aggregate"],
            **settings,
        }
    )
    layout = ObjectLayout(feed, "east aggregate")
    writer = layout.writer(PLACE, "k")
    admit = admit or layout.admission(PLACE, "partition=0", writer.decode)
    return OpenObject("k", writer, None, {}, "", admit, 25 << 20)


async def writes(found, once):
    """Yields before each write of the same records: counted bytes; ends once a row group is cut."""
    for _ in range(1000):
        part, pieces = once.owned(), found.upload.buffered_bytes
        counted = found.writer.forming_bytes([part])
        yield counted
        await found.write([part])
        if found.upload.buffered_bytes > pieces + 1000 and counted > ROW_GROUP_BYTES // 8:
            return
    raise AssertionError("nothing was cut")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_memory_of_records_that_are_written_is_counted(shape, kind):
    """While they become columns, and these the bytes of a row group."""
    count, record = SHAPES[shape]
    once = sliced([record() for _ in range(count)])
    # Only the write that cuts is measured: to trace all takes twenty times as long.
    last = len([counted async for counted in writes(opened(KINDS[kind]), once)])
    with own_pool() as pool:
        counts = []
        async for counted in writes(opened(KINDS[kind]), once):
            counts.append(counted)
            if len(counts) == last:
                gc.collect()
                arrow, tracing = pool.bytes_allocated(), pool.max_memory()
                tracemalloc.start()
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        peak = pool.max_memory()
        taken += peak - arrow if peak > tracing else 0
        assert len(counts) == last and taken <= counts[-1]


async def test_dead_letters_count_before_and_while_they_are_produced(pool):
    """A small one is some objects of Python, whatever it holds."""
    refused = sliced([(None, b"x", ())] * 2000)

    def admit(records):
        return Admitted(records).without(dict.fromkeys(range(len(records)), "no document"))

    found = opened(KINDS["lines"], admit)
    gc.collect()
    tracemalloc.start()
    await found.write([refused])
    held = tracemalloc.get_traced_memory()[0] + pool.bytes_allocated()
    assert held * 0.5 <= found.size_bytes and held <= 1.5 * found.size_bytes
    letters = dead_letters("f", PLACE, "east", "t", found.letters, found.dead)
    produced = tracemalloc.get_traced_memory()[0] + pool.bytes_allocated() - held
    tracemalloc.stop()
    assert len(letters) == 2000
    assert produced <= found.letters_memory <= 3 * produced
    found.drop_letters()
    assert (found.size_bytes, found.letters_memory) == (0, 0)


async def test_letters_of_a_range_that_was_sealed_before_are_not_kept():
    found = opened(KINDS["lines"], lambda it: Admitted(it).without({0: "no document"}))
    found.keeps_letters = False
    await found.write([sliced([(None, b"x", ())] * 2)])
    assert (found.dead, found.letters, found.letters_memory) == ([], [], 0)
