"""Object memory: how much of a loader's memory objects take that are not sealed yet. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from aggregator.loader.object_partition import ObjectPartition
from aggregator.objects.rotation import Ending
from balancer.topic_partition import TopicPartition

WRITE_BYTES = 256 << 10
WAITING_PART = 0.25


class Sized(Protocol):
    """Object whose file and upload take memory."""

    @property
    def size_bytes(self) -> int: ...


Partitions = Mapping[TopicPartition, ObjectPartition]
Opened = Mapping[tuple[TopicPartition, str, int], Sized]
"""Objects by partition, encoded partition and first offset."""


def weigh(partitions: Partitions, opened: Opened) -> None:
    """Notes the memory of open objects, so that the reader pauses when it is short."""
    sizes: Counter[TopicPartition] = Counter()
    for (place, _, _), each in opened.items():
        sizes[place] += each.size_bytes
    for place, partition in partitions.items():
        partition.loading_bytes = sizes[place]


def end_largest(partitions: Partitions, opened: Opened, bytes_max: int) -> None:
    """Ends the largest open object where those that wait for records fill the memory.

    What is not written yet counts: the reader pauses for it as well. Those that have ended do not
    count: when the store is slow, ending more of them frees nothing.
    """
    drafts, replayed = [], 0
    for place, partition in partitions.items():
        replayed += sum(each.size_bytes for _, _, each in partition.progress.replays())
        for name, draft in partition.progress.writable():
            if draft.ending is None:
                file = opened.get((place, name, draft.begin))
                drafts.append((draft.size_bytes + (file.size_bytes if file else 0), draft))
    if drafts and replayed + sum(size for size, _ in drafts) >= bytes_max:
        max(drafts, key=lambda each: each[0])[1].ending = Ending.MEMORY


def bytes_to_write(partitions: Partitions, bytes_max: int) -> int:
    """Returns for how many bytes of records an open object is written.

    Each write costs as much as some hundred records. All that wait for it together take
    WAITING_PART of the memory at most.
    """
    drafts = sum(len([*each.progress.writable()]) for each in partitions.values())
    share = int(WAITING_PART * bytes_max) // max(drafts, 1)
    return max(1, min(WRITE_BYTES, share))
