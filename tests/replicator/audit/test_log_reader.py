"""Fetches whose batches decompress to more together than is ever opened at once."""

import pytest

from replicator.audit.log_reader import LogReader
from replicator.batches.batch import BrokenBatch
from replicator.batches.codec import DECOMPRESSED_BYTES_MAX, Codec
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster, Fetched
from replicator.mirror.offset_map.spans import Span
from tests.replicator.batches.source_batches import encoded, one_record


class Log(Cluster):
    """Cluster whose fetches return as many batches as fit, and at least one."""

    def __init__(self, *batches: bytes) -> None:
        super().__init__("west regional", KafkaCluster(bootstrap=("h:1",)))
        self.batches = batches

    async def fetch(self, topic, partition, offset, bytes_max, *, read_committed):
        found = b""
        for each in self.batches[offset:]:
            if found and len(found) + len(each) > bytes_max:
                break
            found += each
        end = len(self.batches)
        return Fetched(end, end, (), memoryview(found))


def folded(offset: int, size: int) -> bytes:
    return encoded([one_record(offset, bytes(size))], codec=Codec.ZSTD)


async def read(*batches: bytes):
    reader = LogReader(Log(*batches), 10.0)
    span = Span(0, len(batches))
    return await reader.read("flights", 0, span, committed=False, with_fingerprints=True)


async def test_batches_that_decompress_too_far_together_are_read_one_by_one():
    sizes = [1, DECOMPRESSED_BYTES_MAX * 2 // 3, DECOMPRESSED_BYTES_MAX * 2 // 3, 1]
    found = await read(*(folded(offset, size) for offset, size in enumerate(sizes)))
    assert found.fingerprints.offset.tolist() == [0, 1, 2, 3]
    assert all(found.fingerprints.bytes >= sizes)


async def test_one_batch_that_decompresses_too_far_is_named():
    with pytest.raises(BrokenBatch, match=r"offsets 1\.\.1.*more than 100 MiB"):
        await read(folded(0, 1), folded(1, DECOMPRESSED_BYTES_MAX), folded(2, 1))
