"""Poison in tables: records at which their loader fails (59).

The decoder fails at poison, which has to become a dead letter. At a fatal record it is the loader
itself that fails, whatever it does, until somebody has mended it: its partition has to park, and
the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.undecodable import Decode, SettingAside
from aggregator.loader.loader_assembly import Makers
from aggregator.loader.shard_tables import ShardTables
from aggregator.tables.decoded import DeadRecord, Decoded
from aggregator.tables.table_schema import TableSchema
from tests.replicator.batches.source_batches import Record
from tests.world.sinks.feed_load import FATAL, POISON, FeedSender

FATAL_SHARE = 0.2
"""Share of fatal records among those that are poison or fatal."""


@dataclass(slots=True)
class Defect:
    """Defect of the loaders of one feed.

    Args:
        is_mended: fatal records are loaded from now on.
    """

    is_mended: bool = False


@dataclass(slots=True)
class PoisonSender(FeedSender):
    """Producer of records some of which are poison or fatal.

    Args:
        poison_share: of these.
        fatal_share: of fatal records among them.
    """

    poison_share: float = 0.02
    fatal_share: float = FATAL_SHARE

    def _record(self, at: int, now: int) -> Record:
        made, dice = super(PoisonSender, self)._record(at, now), self.dice
        if dice.random() >= self.poison_share:
            return made
        begin = FATAL if dice.random() < self.fatal_share else POISON
        number = self.sent + at
        row = json.dumps({"id": number, "name": f"name {number}"}).encode()
        return replace(made, value=begin + b": 1, " + row[1:])


def _begins(slices: Sequence[RecordSlice], begin: bytes) -> bool:
    return any(
        (part.value_at(at) or b"").startswith(begin) for part in slices for at in range(len(part))
    )


class FailingTables(ShardTables):
    """Tables of a loader with a defect."""

    setting_aside: Callable[[Decode], Decode] = SettingAside
    failure: type[Exception] = ValueError

    def __init__(self, *parts: Any, defect: Defect, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._defect, decoder = defect, self._decoder
        self._decoder = self.setting_aside(partial(_poisoned, decoder))

    async def decode(
        self, topic: str, slices: Sequence[RecordSlice], schema: TableSchema
    ) -> Decoded:
        found = await super().decode(topic, slices, schema)
        if not self._defect.is_mended and _begins(slices, FATAL):
            raise self.failure("a record is fatal")
        return found


def _poisoned(decode: Decode, slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
    """Decodes records, and fails at poison."""
    if _begins(slices, POISON):
        raise ValueError("a record is poison")
    return decode(slices, schema)


def failing(makers: Makers, defect: Defect) -> Makers:
    """Returns makers of loaders with a defect."""
    tables: Any = makers.shard_tables
    kind = tables if isinstance(tables, type) and issubclass(tables, FailingTables) else None
    return replace(makers, shard_tables=partial(kind or FailingTables, defect=defect))


# -- mutations


class TakesAllAlong(FailingTables):
    """Tables of a loader whose every error is one of all its partitions."""

    failure = OSError


@dataclass(frozen=True, slots=True)
class BlamingAll:
    """Decoder that sets all records of a block aside once another decoder fails."""

    decode: Decode

    def __call__(self, slices: Sequence[RecordSlice], schema: TableSchema) -> Decoded:
        try:
            return self.decode(slices, schema)
        except ValueError as error:
            offsets = (offset for part in slices for offset in part.offset.tolist())
            return Decoded(dead=tuple(DeadRecord(offset, str(error)) for offset in offsets))


class BlamesNeighbours(FailingTables):
    """Tables of a loader that sets the neighbours of poison aside."""

    setting_aside = BlamingAll
