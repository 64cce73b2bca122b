"""Unrepeatable expressions: defaults whose value is another one when a block is formed again."""

from __future__ import annotations

import re

from aggregator.tables.column_default import is_left_to_server
from aggregator.tables.table_schema import Column

UNREPEATABLE = re.compile(
    r"\b("
    r"now|now64|nowInBlock|today|yesterday|UTCTimestamp|"
    r"rand\w*|canonicalRand|generate(?:UUIDv\d|ULID|SnowflakeID\w*)|fuzzBits|"
    r"currentUser|user|currentDatabase|queryID|initialQueryID|connectionId|"
    r"hostName|fqdn|serverUUID|getMacro|getSetting|uptime|version|buildId|tcpPort|timezone|"
    r"rowNumberIn\w+|blockNumber|blockSize|blockSerializedSize|"
    r"running\w+|neighbor|lagInFrame|leadInFrame|"
    r"dict(?:Get|Has)\w*|joinGet\w*|filesystem\w+|sleep\w*"
    r")\s*\(",
    re.IGNORECASE,
)


def unrepeatable(column: Column) -> str | None:
    """Returns the function in a column's default that a repeated insert evaluates anew, or None.

    now() and today() as the default of a time are none: loaders take the record's timestamp.
    """
    if column.default_kind not in ("DEFAULT", "MATERIALIZED"):
        return None
    if column.default_kind == "DEFAULT" and not is_left_to_server(column):
        return None
    found = UNREPEATABLE.search(_without_texts(column.default_expression))
    return found[1] if found else None


def _without_texts(expression: str) -> str:
    """Returns an expression without the contents of its string literals."""
    return re.sub(r"'(?:[^'\\]|\\.)*'", "''", expression)
