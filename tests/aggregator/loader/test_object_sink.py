"""Object sink: the memory of a loader is divided, and nothing is given twice."""

import pytest

from aggregator.files.parquet_file import ROW_GROUP_BYTES
from aggregator.loader.loader_assembly import RESPONSES_PART
from aggregator.loader.object_sink import forms_bytes, read_bytes
from aggregator.loader.seal_rule import MIB
from replicator.config.object_feed import OPEN_PART


@pytest.mark.parametrize("memory_mib", [64, 65, 96, 128, 512, 4096, 65536])
def test_the_parts_of_the_memory_are_all_of_it(memory_mib):
    memory = memory_mib * MIB
    responses_and_opened = 2 * RESPONSES_PART * memory
    parts = read_bytes(memory) + forms_bytes(memory) + responses_and_opened
    assert memory - 1 <= parts <= memory


@pytest.mark.parametrize("memory_mib", [64, 65, 96, 128, 512, 4096, 65536])
def test_open_objects_fill_their_part_before_reading_pauses_for_good(memory_mib):
    """Otherwise none would end for want of memory, and nothing would ever be read again."""
    memory = memory_mib * MIB
    assert OPEN_PART * memory <= read_bytes(memory)
    assert forms_bytes(memory) >= 2 * ROW_GROUP_BYTES
