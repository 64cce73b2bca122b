"""Intent: the progress of one partition of a feed, and the blocks that are being loaded from it.

An intent is a committed offset in the cluster that is read. It is committed before its blocks are
sent. A loader that takes the partition over rebuilds exactly these blocks, so that each record is
loaded once. Source of the protocol: eBay's Block Aggregator (deterministic message replay).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from aggregator.intents.read_times import ReadTime, set_back
from aggregator.intents.table_range import KeeperMoment, Manifest, TableRange
from aggregator.intents.told_markers import ToldMarkers
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind

METADATA_BYTES_MAX = 3900
"""Limit of the metadata; the broker's offset.metadata.max.bytes is 4096 by default."""
FIXED_BYTES_MAX = 900
"""Bytes that all fields but the tables may need, also in a parked intent."""
DETAIL_CHARACTERS_MAX = 200
OLDER_LOGS_MAX = 4
"""Most logs before the former one that an intent has room for."""


class UnreadableIntent(Exception):
    """An intent that this version cannot read. Stop; do not guess where to continue."""


class OlderLog(NamedTuple):
    """Log whose records are those below an offset, from the end of a still older one on."""

    end: int
    incarnation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Progress of one partition of a feed.

    Args:
        offset: every record below it is loaded, or is a dead letter: the first one not known so.
        tables: blocks that may have been sent, and markers above `offset`. A table that is not
            named counts as the marker [offset, offset).
        reference: offset from which `count` and `holes` count.
        count: records that were sealed since the reference, those of `tables` included.
        holes: offsets from the reference to `offset` without a record.
        up_to: set in the intent of a forced flush: every record below it is loaded, so that
            reference + count + holes = up_to. Then the next intent counts from up_to.
        position: set in each intent of a feed into objects, which has no forced flushes: next
            offset to read. `holes` then are those up to it, and it is always
            reference + count + open_records + holes.
        open_records: records below the position that no intent has named yet.
        read_times: of the records from `offset` to `position`, which a taker reads again.
        told: markers of further encoded partitions, which are told elsewhere; None: there are none.
        layout: fingerprint of the settings by which the names of `tables` are those of encoded
            partitions: under others the same records are in others.
        producer_id, epoch: the writer that holds the partition.
        transactional_id: only a transaction of this id may replace the intent (rule of custody).
        topic_id: of the topic that was read; another id under the same name is another topic.
        incarnation: of the log that is read: 0 for the first one that the feed read of the
            partition, else the Unix time in milliseconds at which an operator accepted another one
            in its place. It is part of the identity of each row, object and dead letter.
        log_begin: first offset of that log, if an older one goes before it in the same topic: what
            is behind a cut was written anew. No block or object reaches over it.
        former: incarnation of the records below it.
        older: logs below the former one, if the log was cut more than once above what is under
            way; lowest first.
        leader_epoch: newest one of the batches read (-1: none yet); in an intent without a time of
            its commit, of the last batch that was read, perhaps again.
        losses: how many losses an operator accepted.
        dead_letters: how many records were set aside since the partition was adopted.
        letters_at: offset in their topic below which these letters count all that are there of the
            partition; None: not known.
        parked: why the partition is stopped; None when it is not.
        committed_ms: Unix time of the commit by the committer's clock, set by the intent store; 0
            where an earlier version committed it.
    """

    custody: Custody
    offset: int
    tables: Mapping[str, TableRange] = field(default_factory=lambda: MappingProxyType({}))
    reference: int
    count: int = 0
    holes: int = 0
    up_to: int | None = None
    position: int | None = None
    open_records: int = 0
    read_times: tuple[ReadTime, ...] = ()
    told: ToldMarkers | None = None
    layout: str = ""
    producer_id: int = -1
    epoch: int = -1
    transactional_id: str
    topic_id: UUID | None = None
    incarnation: int = 0
    log_begin: int = 0
    former: int = 0
    older: tuple[OlderLog, ...] = ()
    leader_epoch: int = -1
    losses: int = 0
    dead_letters: int = 0
    letters_at: int | None = None
    parked: Loss | None = None
    committed_ms: int = 0

    def range_of(self, table: str) -> TableRange:
        """Returns the range of a table, named or not."""
        if (named := self.tables.get(table)) is not None:
            return named
        end = self.told.passed_to(table, self.offset) if self.told else self.offset
        return TableRange(end, end)

    def incarnation_at(self, offset: int) -> int:
        """Returns the incarnation of the log that a record at an offset is of."""
        if offset >= self.log_begin:
            return self.incarnation
        return next((it.incarnation for it in self.older if offset < it.end), self.former)

    def log_end(self, begin: int, otherwise: int) -> int:
        """Returns where what begins at an offset has to end, as another log begins there.

        Args:
            otherwise: the end of what is read.
        """
        return _log_end(begin, otherwise, self.log_begin, self.older)

    def older_behind(self, offset: int) -> tuple[OlderLog, ...]:
        """Returns the older logs that have records from an offset on."""
        return tuple(each for each in self.older if each.end > offset)

    def is_known(self, table: str) -> bool:
        """Returns False if the range of a table is told elsewhere, or may be."""
        return self.told is None or table in self.tables

    @property
    def sealed_end(self) -> int:
        """Offset from which on no record was sealed: none of them can be stored."""
        told_to = [self.position or 0] if self.told else []
        if self.told and self.told.markers:
            # Behind the position, where it is one of those that are being read again.
            told_to += [each.end for each in self.told.markers.values()]
        return max([self.offset, *told_to, *(each.end for each in self.tables.values())])

    @property
    def replay_end(self) -> int:
        """End of the last block that may have been sent; `offset` if there is none."""
        return max((each.end for each in self.blocks.values()), default=self.offset)

    @property
    def blocks(self) -> dict[str, TableRange]:
        """Blocks that may have been sent, by table."""
        return {table: each for table, each in self.tables.items() if not each.is_marker}

    def is_held_by(self, producer_id: int, epoch: int) -> bool:
        """Returns True for a HELD intent that this very producer committed."""
        held_by = (self.producer_id, self.epoch)
        return self.custody is Custody.HELD and held_by == (producer_id, epoch)

    def by_our_clock(self, now_ms: int) -> Intent:
        """Returns the intent as it is committed by another one than its committer, whose clock may
        be ahead of ours: read times in our future would be no age."""
        ahead_ms = self.committed_ms - now_ms
        return replace(self, read_times=set_back(self.read_times, ahead_ms))

    def park(self, why: Loss) -> Intent:
        """Returns the same intent as parked."""
        # JSON needs six to twelve bytes for a character outside ASCII, and six for control ones.
        text = why.detail.encode("ascii", "replace").decode()[:DETAIL_CHARACTERS_MAX]
        detail = "".join(each if each.isprintable() else "?" for each in text)
        return replace(self, parked=replace(why, detail=detail))


def fits(tables: Mapping[str, TableRange]) -> bool:
    """Returns True if an intent with these tables fits into the metadata, whatever else is in
    it."""
    offset = min((each.begin for each in tables.values()), default=0)
    room = METADATA_BYTES_MAX - FIXED_BYTES_MAX
    packed = _packed(tables, offset)
    return len(_text(packed)) <= room or len(_compressed(packed)) <= room


def encode(intent: Intent) -> tuple[int, str]:
    """Returns the committed offset and its metadata. Raises ValueError if it is too long."""
    fields: dict[str, Any] = {
        # A version that does not know of told markers would write their records again; one that
        # does not know of incarnations would take records for stored ones of a former log.
        "v": 1 if intent.told is None and not intent.incarnation else 2,
        "custody": intent.custody.value,
        "pid": intent.producer_id,
        "epoch": intent.epoch,
        "id": intent.transactional_id,
        "topic": intent.topic_id and intent.topic_id.hex,
        "leader": intent.leader_epoch,
        "ref": intent.offset - intent.reference,
        "count": intent.count,
        "holes": intent.holes,
    }
    if intent.tables:
        fields["tables"] = _packed(intent.tables, intent.offset)
    if intent.up_to is not None:
        fields["up_to"] = intent.up_to - intent.offset
    if intent.position is not None:
        fields["read"] = [intent.position - intent.offset, intent.open_records, intent.layout]
    if intent.told is not None:
        told = intent.told
        fields["told"] = [told.begin, told.base - intent.offset, told.count, told.digest]
    if intent.read_times:
        first_ms = intent.read_times[0].ms
        pairs = [[each.offset - intent.offset, each.ms - first_ms] for each in intent.read_times]
        fields["since"] = [first_ms, *pairs]
    if intent.incarnation:
        fields["log"] = intent.incarnation
    if intent.log_begin:
        # A version that knows of no cuts would look for the rows before it under another name.
        fields["log"] = [intent.incarnation, intent.log_begin - intent.offset, intent.former]
        for each in intent.older:
            fields["log"] += [each.end - intent.offset, each.incarnation]
    if intent.losses:
        fields["losses"] = intent.losses
    if intent.dead_letters:
        fields["dead"] = intent.dead_letters
    if intent.letters_at is not None:
        fields["letters"] = intent.letters_at
    if intent.committed_ms:
        fields["at"] = intent.committed_ms
    if intent.parked:
        loss = intent.parked
        fields["parked"] = [loss.kind.name, loss.begin, loss.end, loss.detail]
    text = _text(fields)
    if len(text) > METADATA_BYTES_MAX and intent.tables:
        fields["tables"] = _compressed(fields["tables"])
        text = _text(fields)
    if len(text) > METADATA_BYTES_MAX and fields.pop("since", None):
        text = _text(fields)  # ages begin anew, which costs smaller or later objects only
    if len(text) > METADATA_BYTES_MAX and intent.parked:
        fields["parked"][-1] = ""  # it is for people
        text = _text(fields)
    if len(text) > METADATA_BYTES_MAX:
        raise ValueError(f"an intent of {len(intent.tables)} tables needs {len(text)} bytes")
    return intent.offset, text.decode()


def decode(offset: int, metadata: str) -> Intent:
    """Returns the intent of a committed offset. Raises UnreadableIntent."""
    try:
        fields = json.loads(metadata)
        if fields["v"] not in (1, 2):
            raise ValueError(f"version {fields['v']}")
        topic = fields["topic"]
        up_to = fields.get("up_to")
        ahead, open_records, layout = fields.get("read", [None, 0, ""])
        log = _log(offset, fields.get("log", 0))
        return Intent(
            custody=Custody(fields["custody"]),
            offset=offset,
            tables=_unpacked(_expanded(fields.get("tables", {})), offset, log),
            reference=offset - _int(fields["ref"]),
            count=_int(fields["count"]),
            holes=_int(fields["holes"]),
            up_to=None if up_to is None else offset + _int(up_to),
            position=None if ahead is None else offset + _int(ahead),
            open_records=_int(open_records),
            read_times=_read_times(offset, *fields.get("since", [0])),
            told=_told(offset, *fields["told"]) if "told" in fields else None,
            layout=_text_of(layout),
            producer_id=_int(fields["pid"]),
            epoch=_int(fields["epoch"]),
            transactional_id=_text_of(fields["id"]),
            topic_id=UUID(hex=topic) if topic else None,
            **log,
            leader_epoch=_int(fields["leader"]),
            losses=_int(fields.get("losses", 0)),
            dead_letters=_int(fields.get("dead", 0)),
            letters_at=_int(fields["letters"]) if "letters" in fields else None,
            parked=_loss(*fields["parked"]) if "parked" in fields else None,
            committed_ms=_int(fields.get("at", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise UnreadableIntent(
            f"intent at offset {offset} cannot be read ({error}): {metadata[:120]!r}; was it "
            "written by a newer version, or by something else under our group's name?"
        ) from error


def unreadable(offset: int, error: UnreadableIntent) -> Intent:
    """Returns a parked intent in place of an unreadable one, so that only its partition stops."""
    return Intent(
        custody=Custody.RELEASED,
        offset=offset,
        reference=offset,
        transactional_id="",
        parked=Loss(LossKind.ENTRY_UNREADABLE, offset, None, str(error)),
    )


def _packed(tables: Mapping[str, TableRange], offset: int) -> dict[str, list[Any]]:
    """Returns tables as [begin - offset] for markers, and longer lists for others."""
    return {table: _listed(each, offset) for table, each in sorted(tables.items())}


def _listed(each: TableRange, offset: int) -> list[Any]:
    each = each.whole
    begin, length = each.begin - offset, each.end - each.begin
    if each.is_marker:
        return [begin]
    listed = [begin, length, each.records, each.schema, each.sealed_at_ms]
    if isinstance(each, Manifest):
        listed += [getattr(each, name) for name in _OF_OBJECTS]
        if each.over:
            listed.append(each.over)
    elif each.moment is not None:
        listed += each.moment
    return listed


_OF_OBJECTS = (
    "left_out",
    "size_bytes",
    "crc32c",
    "first_ms",
    "last_ms",
    "digest",
    "fingerprint",
    "token",
)
"""Fields of a manifest, in the order of the metadata; their types follow."""
_TYPES = (int, int, int, int, int, str, str, str)


def _log_end(begin: int, otherwise: int, log_begin: int, older: Iterable[OlderLog]) -> int:
    cuts = (log_begin, *(each.end for each in older))
    return min([otherwise, *(each for each in cuts if begin < each)])


def _unpacked(
    packed: Mapping[str, list[Any]], offset: int, log: Mapping[str, Any]
) -> Mapping[str, TableRange]:
    found = {name: _range(offset, *listed) for name, listed in packed.items()}
    return MappingProxyType({name: _left(each, offset, log) for name, each in found.items()})


def _left(each: TableRange, offset: int, log: Mapping[str, Any]) -> TableRange:
    """Returns what accepted losses have left of a sealed range: what is below the committed offset
    is lost, and what is behind a cut is of another log."""
    if each.is_marker:
        return each
    return each.within(offset, _log_end(each.begin, each.end, log["log_begin"], log["older"]))


def _range(offset: int, begin: Any, *more: Any) -> TableRange:
    first = offset + _int(begin)
    if not more:
        return TableRange(first, first)
    length, records, schema, sealed_at_ms, *of_object = more
    common = (first, first + _int(length), _int(records), _text_of(schema), _int(sealed_at_ms))
    if len(of_object) <= len(KeeperMoment._fields):
        moment = KeeperMoment(*map(_int, of_object)) if of_object else None
        return TableRange(*common, moment)
    checked: list[Any] = [
        _int(value) if kind is int else _text_of(value)
        for kind, value in zip(_TYPES, of_object[: len(_TYPES)], strict=True)
    ]
    added = of_object[len(_TYPES) :]
    over = _text_of(*added) if added else ""
    return Manifest(*common, **dict(zip(_OF_OBJECTS, checked, strict=True)), over=over)


def _told(offset: int, begin: Any, base: Any, count: Any, digest: Any) -> ToldMarkers:
    return ToldMarkers(_int(begin), offset + _int(base), _int(count), _int(digest))


def _log(offset: int, log: Any) -> dict[str, Any]:
    if not isinstance(log, list):
        return {"incarnation": _int(log), "log_begin": 0, "former": 0, "older": ()}
    incarnation, begin, former, *older = log
    pairs = zip(older[::2], older[1::2], strict=True)
    return {
        "incarnation": _int(incarnation),
        "log_begin": offset + _int(begin),
        "former": _int(former),
        "older": tuple(OlderLog(offset + _int(ahead), _int(name)) for ahead, name in pairs),
    }


def _read_times(offset: int, first_ms: Any, *pairs: Any) -> tuple[ReadTime, ...]:
    return tuple(
        ReadTime(offset + _int(ahead), _int(first_ms) + _int(later)) for ahead, later in pairs
    )


def _compressed(packed: Mapping[str, list[Any]]) -> str:
    """Returns packed tables as text, for those that are too many: names of tables are alike."""
    return base64.b85encode(zlib.compress(_text(packed), 9)).decode()


def _expanded(packed: Any) -> Any:
    if isinstance(packed, str):
        return json.loads(zlib.decompress(base64.b85decode(packed)))
    return packed


def _text(fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def _loss(kind: str, begin: int, end: int | None, detail: str) -> Loss:
    return Loss(LossKind[kind], begin, end, detail)


def _int(value: Any) -> int:
    """Returns the value if it is an integer. Raises TypeError."""
    if type(value) is not int:
        raise TypeError(f"{value!r} is no integer")
    return value


def _text_of(value: Any) -> str:
    """Returns the value if it is a text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
