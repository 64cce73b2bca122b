"""Answers of the clusters of a configuration, for its connection check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Connection:
    """Answer of one cluster; `cluster_id` is None when the cluster did not answer."""

    cluster: str
    cluster_id: str | None
    problem: str

    @property
    def is_sound(self) -> bool:
        return self.cluster_id is not None and not self.problem


def with_shared_ids_named(connections: Iterable[Connection]) -> tuple[Connection, ...]:
    """Adds a problem to each cluster whose id an earlier one has.

    Two addresses can lead to one cluster; a route between them would be a loop.
    """
    first: dict[str, str] = {}
    found = []
    for connection in connections:
        known = connection.cluster_id
        if known is not None and first.setdefault(known, connection.cluster) != connection.cluster:
            text = f"the same cluster as {first[known]}: each needs its own"
            connection = replace(connection, problem=text)
        found.append(connection)
    return tuple(found)
