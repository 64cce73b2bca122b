"""Placement by partition count alone, for partitions whose loads are unknown."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import groupby

from balancer.topic_partition import TopicPartition


def place_by_count(
    partitions: Iterable[TopicPartition],
    carriers: Collection[int],
    before: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Returns the carrier of each partition, in order; a placed partition stays on its carrier.

    All others go one by one to the carrier with the fewest partitions. Among equals the carrier
    with the fewest of the same topic takes the partition, then the carrier with the lowest number.

    Raises ValueError when there is no carrier.
    """
    if not carriers:
        raise ValueError("there is no carrier to place anything on: give one or more")
    ordered, present = sorted(set(partitions)), set(carriers)
    where = {each: before[each] for each in ordered if before.get(each) in present}
    unplaced = [each for each in ordered if each not in where]
    of_topics: dict[str, Counter[int]] = {each.topic: Counter() for each in unplaced}
    for each, carrier in where.items():
        if each.topic in of_topics:
            of_topics[each.topic][carrier] += 1
    counts = _Counts(present, Counter(where.values()))
    for topic, group in groupby(unplaced, key=lambda each: each.topic):
        partitions_of_topic = list(group)
        taken = counts.take(len(partitions_of_topic), of_topics[topic])
        where.update(zip(partitions_of_topic, taken, strict=True))
    return {each: where[each] for each in ordered}


def level_by_count(
    partitions: Iterable[TopicPartition],
    carriers: Collection[int],
    before: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Returns the carrier of each partition, in order.

    The counts of the carriers differ by at most one, with as few moves as that takes.

    Raises ValueError when there is no carrier.
    """
    ordered = sorted(set(partitions))
    held: dict[int, list[TopicPartition]] = {carrier: [] for carrier in sorted(carriers)}
    for each in ordered:
        if before.get(each) in held:
            held[before[each]].append(each)
    share, rest = divmod(len(ordered), max(1, len(held)))
    kept: dict[TopicPartition, int] = {}
    # The fullest carriers may keep one more.
    for carrier in sorted(held, key=lambda at: (-len(held[at]), at)):
        allowed = share + (rest > 0)
        rest -= len(held[carrier]) >= allowed and rest > 0
        kept |= dict.fromkeys(held[carrier][:allowed], carrier)
    return place_by_count(ordered, carriers, kept)


class _Counts:
    """Number of partitions of each carrier, updated while partitions are added."""

    def __init__(self, carriers: Collection[int], counts: Mapping[int, int]):
        self._heap = [(counts.get(at, 0), at) for at in carriers]
        heapq.heapify(self._heap)

    def take(self, many: int, of_topic: Counter[int]) -> list[int]:
        """Returns the carriers that take so many partitions of one topic, in order."""
        # A heap for the topic costs a step per carrier. Without that heap, each partition costs a
        # step per carrier that has the topic.
        steps = many * (many + of_topic.total())
        if steps < len(self._heap):
            return self._take_by_search(many, of_topic)
        return self._take_by_heap(many, of_topic)

    def _take_by_heap(self, many: int, of_topic: Counter[int]) -> list[int]:
        heap = [(count, of_topic[at], at) for count, at in self._heap]
        heapq.heapify(heap)
        taken = []
        for _ in range(many):
            count, same, carrier = heap[0]
            heapq.heapreplace(heap, (count + 1, same + 1, carrier))
            taken.append(carrier)
        self._heap = [(count, at) for count, _, at in heap]
        heapq.heapify(self._heap)
        return taken

    def _take_by_search(self, many: int, of_topic: Counter[int]) -> list[int]:
        taken = []
        for _ in range(many):
            seen = [heapq.heappop(self._heap)]
            fewest = seen[0][0]
            while of_topic[seen[-1][1]] and self._heap and self._heap[0][0] == fewest:
                seen.append(heapq.heappop(self._heap))
            carrier = min((at for _, at in seen), key=lambda at: (of_topic[at], at))
            for count, at in seen:
                heapq.heappush(self._heap, (count + (at == carrier), at))
            of_topic[carrier] += 1
            taken.append(carrier)
        return taken
