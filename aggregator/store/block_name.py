"""Block name: the query id of a block's insert, the same whoever inserts the block."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockName:
    """Name of the block with offsets begin..end-1 of a table, from one partition.

    Args:
        incarnation: of the partition's log (see Intent); None for a table that does not tell logs
            apart.
    """

    feed: str
    cluster: str
    topic: str
    partition: int
    table: str
    begin: int
    end: int
    incarnation: int | None = None

    def __str__(self) -> str:
        source = f"{self.cluster.replace(' ', '.')}-{self.topic}-{self.partition}"
        if self.incarnation:
            source += f"+{self.incarnation}"
        return f"sluice-{self.feed}-{source}-{self.table}-{self.begin}-{self.end}"

    def rest(self, digest: str) -> str:
        """Returns the name of a part of the block: the rows that the table lacks."""
        return f"{self}-rest-{digest}"
