"""Outgoing block: one block of a table as it is inserted, with what recognizes its rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from aggregator.intents.table_range import KeeperMoment
from aggregator.store.block_name import NamedBlock
from aggregator.store.recognition import Identities, Mask
from aggregator.tables.decoded import Decoded
from aggregator.tables.native_block import NativeBlock, native
from aggregator.tables.table_schema import TableSchema
from replicator.runtime.clock import monotonic


class EncodableRows(Protocol):
    """Rows before they are encoded."""

    def where(self, mask: Mask) -> EncodableRows:
        """Returns some of the rows: True for each row to take."""

    def native(self) -> NativeBlock:
        """Encodes the rows. Raises TooManyRows, UnsupportedType."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockRows:
    """Rows of a partition's log, for the columns of a table."""

    decoded: Decoded
    schema: TableSchema
    cluster: str
    topic: str
    partition: int
    incarnation: int = 0

    def where(self, mask: Mask) -> BlockRows:
        """Returns some of the rows: True for each row to take."""
        return replace(self, decoded=self.decoded.where(mask))

    def native(self) -> NativeBlock:
        """Encodes the rows. Raises TooManyRows, UnsupportedType."""
        return native(
            self.decoded,
            self.schema,
            cluster=self.cluster,
            topic=self.topic,
            partition=self.partition,
            incarnation=self.incarnation,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OutgoingBlock:
    """Block of one table, or the part of a block that one insert takes.

    Args:
        rows: before they are encoded.
        native: all of them, encoded.
        part: digest that names the part; empty for a whole block.
        identities: of the rows, in the order of `native`.
        has_coordinates: the table has columns that hold these identities.
        is_as_intended: records and schema are those of the intent, so that a repeat of the block
            that a predecessor sent is the same block.
        sealed_at_ms: Unix time by the clock of the loader that sealed the block.
        sealed_at: the same time by the monotonic clock of this process.
        moment: before which the block was not sent; None: not known.
    """

    name: NamedBlock
    rows: EncodableRows
    native: NativeBlock
    part: str = ""
    identities: Identities
    has_coordinates: bool
    is_as_intended: bool
    sealed_at_ms: int
    sealed_at: float = field(default_factory=monotonic)
    moment: KeeperMoment | None

    def rest(self, mask: Mask) -> NativeBlock:
        """Encodes some of the rows: True for each row to take."""
        return self.rows.where(mask).native()
