"""Records that compaction has removed from the source before they were carried for certain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from balancer.topic_partition import TopicPartition


class Compactions:
    """Removed records of one route. The target may have each of them, or not.

    Replicas compact on their own: a record may be gone for a carrier, and be there again for the
    next one that reads from another leader.
    """

    def __init__(self) -> None:
        self._removed: dict[TopicPartition, set[bytes]] = {}

    def note(self, place: TopicPartition, values: Iterable[bytes]) -> None:
        """Notes records of a partition that are removed now, and may not be carried yet."""
        self._removed.setdefault(place, set()).update(values)

    def left(
        self,
        place: TopicPartition,
        records: Sequence[tuple[int, bytes]],
        seen: Collection[bytes],
    ) -> Sequence[tuple[int, bytes]]:
        """Returns the records that the target has to have.

        Args:
            records: all that ever stood in the source, by offset.
            seen: values that the target has.
        """
        removed = self._removed.get(place)
        if not removed:
            return records
        missing = removed.difference(seen)
        return [it for it in records if it[1] not in missing]
