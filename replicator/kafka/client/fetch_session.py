"""Fetch session: the positions that a broker already knows, so that a request names only changes.

Source: KIP-227 (incremental fetch sessions). Without it each request and each answer would name
every partition: with a thousand partitions that is most of an idle carrier's work (decision 0006).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from replicator.kafka.protocol.fetch import FetchPosition

TopicIdPartition = tuple[UUID, int]
"""Topic id and partition."""

EPOCH_MAX = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Changes:
    """Content of the next request: session id and epoch, changed positions, partitions to drop."""

    session_id: int
    epoch: int
    positions: tuple[FetchPosition, ...]
    forgotten: tuple[TopicIdPartition, ...]


class FetchSession:
    """A session with one broker. After a lost answer or an error it is begun anew.

    Args:
        epoch_max: epoch after which the epochs begin again at 1.
    """

    def __init__(self, epoch_max: int = EPOCH_MAX) -> None:
        self._epoch_max = epoch_max
        self._id = 0
        self._epoch = 0
        self._known: dict[TopicIdPartition, FetchPosition] = {}

    def next(self, wanted: Mapping[TopicIdPartition, FetchPosition]) -> Changes:
        """Returns the next request's content.

        Args:
            wanted: everything that is to be fetched from now on.
        """
        if self._epoch == 0:
            self._known = dict(wanted)
            return Changes(0, 0, tuple(wanted.values()), ())
        known = self._known
        positions = tuple(
            position for place, position in wanted.items() if known.get(place) != position
        )
        forgotten: tuple[TopicIdPartition, ...] = ()
        if len(known.keys() | wanted.keys()) > len(wanted):
            forgotten = tuple(place for place in known if place not in wanted)
        self._known = dict(wanted)
        return Changes(self._id, self._epoch, positions, forgotten)

    def asked(self, place: TopicIdPartition) -> FetchPosition | None:
        """Returns the position that the last request named for a partition."""
        return self._known.get(place)

    def answered(self, session_id: int) -> None:
        """Notes an answer without error; session id 0 means that the broker keeps no session."""
        self._id = session_id
        if session_id == 0:
            self._epoch = 0
        else:
            self._epoch = self._epoch + 1 if self._epoch < self._epoch_max else 1

    def forget(self) -> None:
        """Begins a new session with the next request."""
        self._id = self._epoch = 0
        self._known = {}
