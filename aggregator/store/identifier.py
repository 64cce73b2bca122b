"""Identifiers in SQL: names of databases, tables and columns, quoted."""

from __future__ import annotations


def quoted(*names: str) -> str:
    """Returns a name, or several joined by dots, as ClickHouse reads it whatever is in it."""
    return ".".join("`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`" for name in names)
