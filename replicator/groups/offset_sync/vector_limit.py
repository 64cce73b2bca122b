"""Limit of the broker on the metadata of a commit, and groups whose vectors are above it."""

from __future__ import annotations

import logging
from dataclasses import replace

from replicator.groups.planning.failover_plan import Move
from replicator.groups.progress.vector_metadata import encode

logger = logging.getLogger(__name__)


class VectorLimit:
    """Limit on vectors; logs each group once whose vector is too large."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def applied(self, group: str, move: Move) -> Move:
        """Returns the move, without its vector where that is too large for a broker.

        Records that the vector would have left out are then read again.
        """
        try:
            encode(move.vector)
        except ValueError as error:
            if group not in self._logged:
                self._logged.add(group)
                logger.warning(
                    "event=vector-too-large group %r on %s-%d: %s; its positions are written "
                    "without it",
                    group,
                    move.topic,
                    move.partition,
                    error,
                )
            return replace(move, vector={})
        return move
