"""Block name: the query id of a block's insert, the same whoever inserts the block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

# Of a row that is not looked for, 12 bytes are read.
ROWS = """
SELECT _part, groupArray(toInt64(_offset)), groupArray(toInt64(_row)) FROM {table}
PREWHERE _partition = %(partition)s AND _offset >= %(begin)s AND _offset < %(end)s
WHERE _cluster = %(cluster)s AND _topic = %(topic)s
"""
OF_LOG = "AND _incarnation = %(incarnation)s "


class RowsSought(NamedTuple):
    """Query for the rows of a block's range.

    Args:
        query: answers parts with two lists of whole numbers, which identify the rows; conditions
            and a GROUP BY _part can stand behind it. {table} is the table.
        parameters: of its conditions.
    """

    query: str
    parameters: Mapping[str, object]


class NamedBlock(Protocol):
    """Block by the query id of its insert.

    Args:
        topic: by which its inserts are counted.
    """

    @property
    def topic(self) -> str: ...

    @property
    def table(self) -> str: ...

    def rest(self, digest: str) -> str:
        """Returns the name of a part of the block: the rows that the table lacks."""

    def sought(self) -> RowsSought:
        """Returns the rows of the block's range, whoever has inserted them."""


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

    def sought(self) -> RowsSought:
        """Returns the rows of the block's range, whoever has inserted them."""
        parameters: dict[str, object] = {
            "cluster": self.cluster,
            "topic": self.topic,
            "partition": self.partition,
            "begin": self.begin,
            "end": self.end,
        }
        if self.incarnation is None:
            return RowsSought(ROWS, parameters)
        return RowsSought(ROWS + OF_LOG, {**parameters, "incarnation": self.incarnation})
