"""Replica choice: the first replica of a shard that is not known to be in trouble. Pure."""

from __future__ import annotations

from collections.abc import Sequence


class ReplicaChoice:
    """Choice among the replicas of a shard, in the order of the configuration.

    Args:
        away_seconds: time for which a replica that failed is used only if all others failed too.
    """

    def __init__(self, replicas: int, away_seconds: float) -> None:
        self._away_until = [0.0] * replicas
        self._away_seconds = away_seconds

    def best(self, now: float, among: Sequence[int] = ()) -> int:
        """Returns the first replica that is not away; if all are, the one that failed first.

        Args:
            among: replicas to choose from; empty: all.
        """
        several = among or range(len(self._away_until))
        return min(several, key=lambda at: max(self._away_until[at], now))

    def failed(self, replica: int, now: float) -> None:
        self._away_until[replica] = now + self._away_seconds

    def worked(self, replica: int) -> None:
        self._away_until[replica] = 0.0
