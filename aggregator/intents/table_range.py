"""Table range: the part of a table, or of an encoded partition, that an intent names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self


class KeeperMoment(NamedTuple):
    """Moment in the order of ZooKeeper's changes, which is the same for all replicas and loaders.

    Whatever was changed in ZooKeeper later has a greater transaction id. So no clock is needed to
    tell what was stored before a block was sent.

    Args:
        zxid: transaction that changed the table's list of hashes last.
        table: transaction that made this list: it tells the table apart from a later one.
    """

    zxid: int
    table: int


@dataclass(frozen=True, slots=True)
class TableRange:
    """Offsets begin..end-1 of a table's block; with begin == end a marker.

    A marker says that every record of the table below it is loaded.

    Args:
        records: of the table in the range, each of which may hold several rows.
        schema: hash of the table's columns when the block was sealed.
        sealed_at_ms: Unix time at which the block was sealed, for people: by the loader's clock.
        moment: before which the block was not sent; None for a table without ZooKeeper, or if
            nobody could tell.
        before, behind: offsets that were sealed beyond the range at either end, of which a loss
            left a part since. The block or object may be stored, and keeps its name.
    """

    begin: int
    end: int
    records: int = 0
    schema: str = ""
    sealed_at_ms: int = 0
    moment: KeeperMoment | None = None
    before: int = field(default=0, kw_only=True)
    behind: int = field(default=0, kw_only=True)

    @property
    def is_marker(self) -> bool:
        return self.begin == self.end

    @property
    def sealed_begin(self) -> int:
        """Begin of the range as it was sealed, which the block's or object's name has."""
        return self.begin - self.before

    @property
    def sealed_end(self) -> int:
        """End of the range as it was sealed."""
        return self.end + self.behind

    @property
    def whole(self) -> Self:
        """Range as it was sealed."""
        if not (self.before or self.behind):
            return self
        return replace(self, begin=self.sealed_begin, end=self.sealed_end, before=0, behind=0)

    def within(self, begin: int, end: int) -> Self:
        """Returns what a loss leaves of the range, within begin..end-1."""
        left = replace(self, begin=max(self.begin, begin), end=min(self.end, end))
        beyond = left.begin - self.sealed_begin, self.sealed_end - left.end
        return replace(left, before=beyond[0], behind=beyond[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(TableRange):
    """Range whose records become one object: `schema` is the id of theirs, empty for none.

    Args:
        left_out: records of the range that are not in the object: dead letters, and tombstones.
        size_bytes, crc32c: of the object.
        first_ms, last_ms: least and greatest timestamp of its records; -1: none has one.
        digest: of the records in it, whatever the format of the file.
        fingerprint: of the settings that decide the object's bytes and its name.
        token: of the attempt whose upload it is.
        over: ETag of another content of that name, which an operator lets be overwritten.
    """

    left_out: int = 0
    size_bytes: int
    crc32c: int
    first_ms: int = -1
    last_ms: int = -1
    digest: str = ""
    fingerprint: str = ""
    token: str = ""
    over: str = ""

    @property
    def written(self) -> int:
        """Number of records that are in the object."""
        return self.records - self.left_out

    @property
    def is_empty(self) -> bool:
        """True if no record of the range is in an object: there is none, then."""
        return not self.written
