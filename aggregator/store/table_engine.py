"""Table engines: tables that take a feed's blocks once, and the reasons why others do not. Pure.

A block that may be stored is looked for by its rows. So a table has to keep each row as it was
inserted, and has to show its rows to whoever looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aggregator.tables.table_schema import OWN_COLUMNS

KEEPING = "MergeTree"
"""Engine whose merges keep every row."""
COPYING = "Replicated", "Shared"
"""Beginnings of engines that copy their rows to other replicas."""
VIEWS = frozenset(["View", "MaterializedView", "LiveView", "WindowView"])
_MERGING = {
    "Summing": "sum rows up",
    "Replacing": "keep one row of each key",
    "Collapsing": "cancel pairs of rows",
    "VersionedCollapsing": "cancel pairs of rows",
    "Aggregating": "aggregate rows",
    "Graphite": "roll rows up",
    "Coalescing": "join rows of one key",
}
"""Families of MergeTree whose merges take rows away, and what these do."""
_CHANGE = f"make it a {KEEPING} or a Replicated{KEEPING}"
_OTHERS = {
    "Distributed": "passes rows on later, to servers that nobody looks at; load the tables behind "
    "it, as shards of the feed",
    "Buffer": "loses its rows with its server; load the table behind it",
    "Null": f"keeps no rows; {_CHANGE}",
    "Memory": f"loses its rows with its server; {_CHANGE}",
    **dict.fromkeys(VIEWS, "has no rows of its own; load a table"),
}
"""Other engines: the reason and the mend."""
_MOVES = re.compile(r"\b(TO\s+(DISK|VOLUME)|RECOMPRESS)\b", re.IGNORECASE)
_GROUPS = re.compile(r"\bGROUP\s+BY\b", re.IGNORECASE)
_TTL = re.compile(r"\bTTL\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableEngine:
    """Engine of a table, as system.tables describes it.

    Args:
        name: such as ReplicatedMergeTree.
        clauses: the engine with its arguments and clauses (`engine_full`).
        columns: list of the columns as the table's CREATE statement has it.
        views: materialised views that take what is inserted into the table.
    """

    name: str
    clauses: str = ""
    columns: str = ""
    views: tuple[str, ...] = ()

    @property
    def is_view(self) -> bool:
        return self.name in VIEWS

    @property
    def refusal(self) -> str:
        """Reason why no block may be inserted, with the mend; empty if there is none."""
        bare = self.name
        for beginning in COPYING:
            bare = bare.removeprefix(beginning)
        family = bare.removesuffix(KEEPING)
        if bare != KEEPING and bare.endswith(KEEPING) and family in _MERGING:
            return (
                f"has the engine {self.name}: its merges {_MERGING[family]}, so that a repeated "
                f"block cannot be recognized; load a {self._plain}, and do this in queries"
            )
        if bare != KEEPING:
            why = _OTHERS.get(bare, f"does not keep rows as a {KEEPING} does; {_CHANGE}")
            return f"has the engine {self.name}, which {why}"
        if _GROUPS.search(self._ttl):
            return "has a TTL with GROUP BY, which takes rows away while they are valid; remove it"
        for column in _split(_without_texts(self.columns)):
            name = column.strip().split(" ")[0].strip('`"')
            if name in OWN_COLUMNS and _TTL.search(column):
                return f"has a TTL of its column {name}, which identifies rows; remove it"
        return ""

    def remarks(self) -> Iterator[str]:
        """Yields what is not exactly once although the table itself is."""
        if self.refusal:
            return
        if self._ttl and not all(_MOVES.search(each) for each in _split(self._ttl)):
            yield (
                "has a TTL that deletes rows: a block that is repeated after that is inserted "
                "again, and deleted by the next merge; let it be longer than any outage"
            )
        if self.views:
            yield (
                f"feeds {', '.join(self.views)}: a block whose insert fails halfway may be missing "
                "there, as views are no part of the table; compare them, or query the table"
            )

    @property
    def _plain(self) -> str:
        beginning = next((each for each in COPYING if self.name.startswith(each)), "")
        return f"{beginning}{KEEPING}"

    @property
    def _ttl(self) -> str:
        """Clause of the table's TTL; empty without one."""
        _, _, clause = _without_texts(self.clauses).partition(" TTL ")
        return clause.partition(" SETTINGS ")[0]


def columns_of(create_table_query: str) -> str:
    """Returns the list of columns of a CREATE TABLE statement."""
    _, _, text = create_table_query.partition("(")
    return text.partition(") ENGINE")[0]


def _without_texts(expression: str) -> str:
    """Returns an expression without the contents of its string literals."""
    return re.sub(r"'(?:[^'\\]|\\.)*'", "''", expression)


def _split(text: str) -> Iterator[str]:
    """Yields the parts of a list, whose commas within brackets are no ends of parts."""
    depth, begin = 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]
