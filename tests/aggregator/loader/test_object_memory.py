"""Memory of a loader of objects: its parts, and which objects end for want of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from aggregator.files.parquet_file import ROW_GROUP_BYTES
from aggregator.intents.intent import Intent
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.loader_assembly import RESPONSES_PART
from aggregator.loader.object_memory import WRITE_BYTES, bytes_to_write, end_largest, weigh
from aggregator.loader.object_sink import forms_bytes, read_bytes
from aggregator.loader.seal_rule import MIB
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Ending, Rotation
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import OPEN_PART
from replicator.kafka.client.custody import Custody
from tests.aggregator.objects.object_life import Logged, Part

# -- Objects that are not sealed never fill the memory for ever: the largest of them ends.

PLACE = TopicPartition("flights", 0)


class Held:
    """Partition of a loader, and the objects that it has open."""

    def __init__(self):
        intent = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="loader")
        progress = ObjectProgress(Rotation(), intent)
        self.partitions = {PLACE: HeldPartition(PLACE, intent, progress, 0)}
        self.progress, self.opened = progress, {}

    def read(self, **names):
        """Reads a record of one byte into each name; its file takes as much memory as is told."""
        begin = self.progress.position
        parts = {name: Part((Logged(begin + at, name),)) for at, name in enumerate(names)}
        end = begin + len(parts)
        self.progress.add(np.arange(begin, end), end, parts, 0.0)
        for name, draft in self.progress.writable():
            if name in names:
                self.opened[PLACE, name, draft.begin] = SimpleNamespace(size_bytes=names[name])

    def endings(self):
        return {name: draft.ending for name, draft in self.progress.writable()}


@pytest.fixture
def held():
    return Held()


def test_open_objects_count_as_memory_of_their_partition(held):
    held.read(a=30, b=12)
    weigh(held.partitions, held.opened)
    assert held.partitions[PLACE].loading_bytes == 42
    weigh(held.partitions, {})
    assert held.partitions[PLACE].loading_bytes == 0


def test_the_largest_open_object_ends_once_they_fill_the_memory(held):
    """With the record of each that waits to be written, for which the reader pauses as well."""
    held.read(a=30, b=56, c=9)
    end_largest(held.partitions, held.opened, 100)
    assert set(held.endings().values()) == {None}
    held.read(d=1)
    end_largest(held.partitions, held.opened, 100)
    assert held.endings() == {"a": None, "b": Ending.MEMORY, "c": None, "d": None}


def test_no_further_object_ends_while_the_store_is_slow_to_take_the_largest(held):
    held.read(a=30, b=60, c=10)
    for _ in range(3):
        end_largest(held.partitions, held.opened, 100)
    assert held.endings() == {"a": None, "b": Ending.MEMORY, "c": None}


def test_records_that_wait_for_more_fill_the_memory_as_files_do(held):
    """The reader pauses for both; without an end nothing would be read or written any more."""
    held.read(a=0, b=0)
    end_largest(held.partitions, {}, 2)
    assert list(held.endings().values()).count(Ending.MEMORY) == 1


def test_records_wait_to_be_written_with_others_but_never_fill_the_memory(held):
    """Otherwise the reader would pause for want of memory, and nothing would ever be written."""
    held.read(a=0)
    assert bytes_to_write(held.partitions, 1 << 30) == WRITE_BYTES
    for names in (5, 12):
        held.read(**{f"{names}-{at}": 0 for at in range(names)})
        drafts = [draft for _, draft in held.progress.writable()]
        assert len(drafts) * bytes_to_write(held.partitions, 100) <= 25
    held.read(**{f"last-{at}": 0 for at in range(100)})
    assert bytes_to_write(held.partitions, 100) == 1


# -- Object sink: the memory of a loader is divided, and nothing is given twice.


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
