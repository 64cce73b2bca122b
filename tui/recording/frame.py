"""Frame of a recording: one snapshot as bytes, whole or as the difference to the frame before.

VERSION is that of the form of these bytes. Whoever changes the form raises it, and adds to UPGRADES
how a frame of the version before becomes one of the new version; fields of a snapshot that come or
go need neither (tables.from_tables).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from tui.facts.snapshot import Snapshot
from tui.recording.difference import applied, difference
from tui.recording.tables import Damaged, Tables, from_tables, to_tables

VERSION = 1
UPGRADES: Mapping[int, Callable[[Tables], Tables]] = {}
"""Functions that turn the tables of a frame into those of the next version, by its own version.

There is no earlier version yet.
"""
COMPRESSION = 1
"""Level of zlib. Level 6 takes six times the time for a tenth less."""


class Kind(StrEnum):
    """Kinds of frames."""

    WHOLE = "whole"
    DIFFERENCE = "difference"


@dataclass(frozen=True, slots=True)
class Frame:
    """Snapshot as bytes.

    Args:
        at: Unix seconds at which the snapshot was taken.
    """

    at: float
    kind: Kind
    content: bytes
    version: int = VERSION


class Packer:
    """Packer of the frames of one recording, in their order."""

    def __init__(self) -> None:
        self._former: Tables | None = None

    def packed(self, snapshot: Snapshot, *, is_whole: bool) -> Frame:
        """Returns the snapshot as a frame; the first one is always whole."""
        tables = to_tables(snapshot)
        former, self._former = self._former, tables
        if is_whole or former is None:
            return Frame(snapshot.taken_at, Kind.WHOLE, _to_bytes(tables))
        return Frame(snapshot.taken_at, Kind.DIFFERENCE, _to_bytes(difference(former, tables)))


def tables_of(frame: Frame, former: Tables | None) -> Tables:
    """Returns the tables of a frame, in the form of its own version. Raises Damaged.

    Args:
        former: tables of the frame before; needed for a difference.
    """
    if frame.kind is Kind.WHOLE:
        return _tables_in(frame.content)
    if former is None:
        raise Damaged("a difference has no frame before it")
    return applied(former, _from_bytes(frame.content))


def snapshot_of(
    tables: Tables,
    version: int = VERSION,
    upgrades: Mapping[int, Callable[[Tables], Tables]] = UPGRADES,
) -> Snapshot:
    """Returns the snapshot of a frame's tables, whatever its version. Raises Damaged."""
    for each in range(version, VERSION):
        tables = upgrades[each](tables)
    return from_tables(tables)


def _to_bytes(values: Mapping[str, Any]) -> bytes:
    try:
        text = to_json(values)
    except PydanticSerializationError:
        # A name that is no text, such as half of a UTF-16 pair: with a ? for each such character.
        plain = json.dumps(values, default=to_jsonable_python, ensure_ascii=False)
        text = plain.encode(errors="replace")
    return zlib.compress(text, COMPRESSION)


def _from_bytes(content: bytes) -> dict[str, Any]:
    try:
        values = from_json(zlib.decompress(content))
    except (zlib.error, ValueError) as error:
        raise Damaged(f"a frame cannot be unpacked: {error}") from None
    if not isinstance(values, dict):
        raise Damaged("a frame is no set of tables")
    return values


def _tables_in(content: bytes) -> Tables:
    tables = _from_bytes(content)
    for table in tables.values():
        if not isinstance(table, dict) or not all(isinstance(it, list) for it in table.values()):
            raise Damaged("a frame is no set of tables")
    return tables
