"""Shard view: the tables of a shard, as its replicas describe them together. Pure.

A replica may lack what the others have: it was rebuilt, or an ALTER has not arrived. So no record
is set aside because of what one server says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from aggregator.store.schema_reader import TableFacts

Tables = Mapping[str, TableFacts]


@dataclass(frozen=True)
class ShardView:
    """Tables of a shard.

    Args:
        names: of the replicas, in the order of the configuration.
        seen: tables of each replica; None for one that did not answer.
    """

    names: Sequence[str] = ()
    seen: Sequence[Tables | None] = ()

    @cached_property
    def tables(self) -> Tables:
        """Tables that any replica has; each with the columns of the replica that has altered it
        most often."""
        found: dict[str, TableFacts] = {}
        for tables in filter(None, self.seen):
            for name, facts in tables.items():
                known = found.get(name)
                if known is None or facts.columns_version > known.columns_version:
                    found[name] = facts
        return found

    def suited(self, table: str) -> list[int]:
        """Returns the replicas that have a table with its newest columns; all if none has it."""
        newest = self.tables.get(table)
        found = [
            at
            for at, tables in enumerate(self.seen)
            if newest and tables and table in tables and _is_same(tables[table], newest)
        ]
        return found or list(range(len(self.names)))

    def refusal(self, table: str) -> str:
        """Returns why no block may be inserted into a table, with the mend; empty if it may.

        What is not there at all is refused only while a replica that does not answer may have it.
        """
        having = list(self._having(table))
        if not having:
            silent = [name for name, it in zip(self.names, self.seen, strict=True) if it is None]
            if len(silent) == len(self.names) or not silent:
                return ""
            return (
                f"is on no replica that answers, and may be on {', '.join(silent)}: create it, or "
                "bring these back"
            )
        first, facts = having[0]
        for replica, other in having:
            if refusal := other.kind.refusal:
                return f"{refusal} (on {replica})"
            if other.engine != facts.engine:
                return (
                    f"has the engine {other.engine} on {replica}, and {facts.engine} on {first}: "
                    "create the same table on both"
                )
            if other.path != facts.path:
                return (
                    f"is another table on {replica} ({other.path}) than on {first} ({facts.path}): "
                    "create it with the same path"
                )
            if not other.path and not _is_same(other, facts):
                return f"has other columns on {replica} than on {first}: alter one of them"
        return ""

    def _having(self, table: str) -> Iterator[tuple[str, TableFacts]]:
        for name, tables in zip(self.names, self.seen, strict=True):
            if tables and table in tables:
                yield name, tables[table]


def _is_same(one: TableFacts, other: TableFacts) -> bool:
    return one.schema.hash == other.schema.hash
