"""Encoded partitions: folders `name=value`, in which engines that know Hive see columns.

Source of the escapes: org.apache.hadoop.hive.common.FileUtils.escapePathName.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Value in place of one that is null, missing, empty or cannot be read."""
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")


def encoded(columns: Iterable[tuple[str, str | None]]) -> str:
    """Returns the encoded partition of columns and their values."""
    return "/".join(f"{_escaped(name)}={_escaped(value or NO_VALUE)}" for name, value in columns)


def columns_of(encoded_partition: str) -> list[tuple[str, str | None]]:
    """Returns the columns of an encoded partition, and their values.

    Raises:
        ValueError: a folder is none of `name=value`.
    """
    found: list[tuple[str, str | None]] = []
    for folder in encoded_partition.split("/"):
        name, equals, value = folder.partition("=")
        if not equals:
            raise ValueError(f"{folder!r} is no folder of the form name=value")
        found.append((_unescaped(name), None if value == NO_VALUE else _unescaped(value)))
    return found


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text).decode()
