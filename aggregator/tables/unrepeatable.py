"""Unrepeatable expressions: defaults whose value is another one when a block is formed again."""

from __future__ import annotations

import re

from aggregator.tables.column_default import is_left_to_server
from aggregator.tables.table_schema import Column

UNREPEATABLE = re.compile(
    r"\b("
    r"now|now64|nowInBlock(?:64)?|today|yesterday|curdate|localtime|localtimestamp|"
    r"current_date|current_timestamp|UTC_?timestamp|dateTimeToUUIDv7|"
    r"rand\w*|canonicalRand|array(?:Partial)?Shuffle|arrayRandomSample|fuzz\w+|obfuscateQuery|"
    r"generate(?:UUIDv\d|ULID|SnowflakeID\w*|SerialID|RandomStructure)|"
    r"ai(?:Classify|Embed|Extract|Filter|Generate|Redact|Similarity|Translate)|"
    r"(?:current|session)_?(?:user|roles|profiles|database|schemas|handler|queryID|query_id|"
    r"requestURL)|(?:default|enabled)(?:Roles|Profiles)|auth(?:enticated)?User|"
    r"user|database|schema|"
    r"(?:initial_?)?query_?(?:id|start_?time)|connection_?id|transactionID|"
    r"(?:full)?hostName|fqdn|displayName|serverUUID|getMacro|getServerPort|tcpPort|"
    r"getOSKernelVersion|"
    r"get(?:Server|MergeTree)?Setting\w*|uptime|version|revision|buildId|(?:server)?timezone|"
    r"zookeeperSessionUptime|shardNum|shardCount|"
    r"rowNumberIn\w+|blockNumber|blockSize|blockSerializedSize|"
    r"running\w+|neighbor|lagInFrame|leadInFrame|"
    r"dict(?:Get|Has|IsIn)\w*|joinGet\w*|file|filesystem\w+|hasColumnInTable|sleep\w*"
    r")\s*\(|\b(CURRENT_TIMESTAMP|CURRENT_DATE|CURRENT_USER|LOCALTIMESTAMP|LOCALTIME)\b",
    re.IGNORECASE,
)
"""Functions that a server calls not deterministic (`system.functions`), by all their names; some
stand without parentheses too."""


def unrepeatable(column: Column) -> str | None:
    """Returns the function in a column's default that a repeated insert evaluates anew, or None.

    now() and today() as the default of a time are none: loaders take the record's timestamp.
    """
    if column.default_kind not in ("DEFAULT", "MATERIALIZED", "EPHEMERAL"):
        return None
    if column.default_kind != "MATERIALIZED" and not is_left_to_server(column):
        return None
    found = UNREPEATABLE.search(_without_texts(column.default_expression))
    return found[found.lastindex or 0] if found else None


def _without_texts(expression: str) -> str:
    """Returns an expression without the contents of its string literals."""
    return re.sub(r"'(?:[^'\\]|\\.)*'", "''", expression)
