"""Accepted intents: where a parked partition goes on once its loss is accepted. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from aggregator.intents.intent import OLDER_LOGS_MAX, Intent, OlderLog
from aggregator.intents.table_range import Manifest, TableRange
from aggregator.intents.told_markers import ToldMarkers
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import LossKind

GOES_ON = frozenset(
    {
        LossKind.RECORDS_REFUSED,
        LossKind.OBJECT_TAKEN,
        LossKind.OBJECT_SETTINGS,
        LossKind.LETTER_REFUSED,
        LossKind.LOADER_FAILED,
    }
)
"""Losses of which nothing is skipped: the operator has mended the table, the settings, the topic of
dead letters or the loader, or has moved the other object away."""
CUT_BACK = frozenset({LossKind.SOURCE_TRUNCATED, LossKind.SOURCE_WENT_BACK})
"""Losses behind whose begin the log was written anew, or will be."""
STARTS_ANEW = frozenset({LossKind.SOURCE_RECREATED, LossKind.SOURCE_DELETED})


class NoRestart(Exception):
    """It is not known where to go on. Name an offset with --restart-at."""


class NotAsConfirmed(Exception):
    """The partition is parked for something else than what the operator has confirmed."""


@dataclass(frozen=True, slots=True)
class LogToday:
    """The partition's log as it is now.

    Args:
        leader_epoch: of its leader; -1 where it is not known.
        epoch_end: behind the last record of that epoch.
        read_end: behind the last record of the newest epoch that was read of the partition; -1
            where it is not known.
    """

    topic_id: UUID
    start: int
    end: int
    leader_epoch: int = -1
    epoch_end: int = -1
    read_end: int = -1


def accepted(
    intent: Intent | None,
    today: LogToday,
    free_id: str,
    restart_at: int | None = None,
    opened_at_ms: int = 1,
) -> Intent:
    """Returns the intent that goes on behind an accepted loss.

    Counting begins anew there; the number of accepted losses tells the verifier why.

    Args:
        intent: as it is parked; None for an intent that is gone.
        free_id: transactional id of intents that nobody holds.
        restart_at: offset to go on at, in the place of the end of the loss.
        opened_at_ms: Unix time; names the log of today if it is another one than the intent's. The
            log of an intent that is gone is not known: `renamed` names it.

    Raises:
        NoRestart: the loss has no end, and no offset was named; or one that is too small; or the
            log was cut more often than an intent has room for.
    """
    if intent is None:
        if restart_at is None:
            raise NoRestart("its intent is gone, so nobody knows what is loaded")
        return Intent(
            custody=Custody.RELEASED,
            offset=restart_at,
            reference=restart_at,
            transactional_id=free_id,
            topic_id=today.topic_id,
            losses=1,
        )
    before = intent = _cut_again(intent, today)
    offset = _offset(intent, today, restart_at)
    told = _told_behind(intent, today, offset)
    cut = _cut(intent, offset, restart_at)
    tables = _behind(intent, offset, cut)
    is_other = _is_other_log(intent, today)
    if is_other:
        tables = {}
        intent = renamed(intent, opened_at_ms)
    elif cut is not None and max(offset, cut) < intent.sealed_end:
        intent = renamed(intent, opened_at_ms, max(offset, cut))
    return replace(
        intent,
        custody=Custody.RELEASED,
        offset=offset,
        tables=tables,
        older=_older(intent, offset),
        told=told,
        read_times=(),
        reference=offset,
        count=0,
        holes=0,
        up_to=None,
        position=None if intent.position is None else offset,
        open_records=0,
        transactional_id=free_id,
        topic_id=today.topic_id,
        leader_epoch=_epoch(intent, today, offset),
        losses=intent.losses + 1,
        letters_at=before.letters_at if _is_new(before, intent, offset) else None,
        parked=None,
    )


def renamed(intent: Intent, opened_at_ms: int, log_begin: int = 0) -> Intent:
    """Returns the intent for another log: none of its records is taken for one of a former log.

    Args:
        opened_at_ms: Unix time. Only that no other log has the same matters, and no counter that is
            lost with an intent could say as much.
        log_begin: first offset of the log; those below it stay the former's.
    """
    logs = (*intent.older, OlderLog(intent.log_begin, intent.former))
    return replace(
        intent,
        incarnation=max(opened_at_ms, intent.incarnation + 1),
        log_begin=log_begin,
        former=intent.incarnation_at(log_begin - 1) if log_begin else 0,
        older=tuple(each for each in logs if 0 < each.end < log_begin),
    )


def taken_object(intent: Intent) -> tuple[str, Manifest] | None:
    """Returns the sealed object whose name is taken by another content, by its encoded partition;
    None if the partition is not parked for that."""
    loss = intent.parked
    if loss is None or loss.kind is not LossKind.OBJECT_TAKEN:
        return None
    found = (
        (name, each)
        for name, each in intent.tables.items()
        if isinstance(each, Manifest) and each.begin == loss.begin
    )
    return next(found, None)


def overwriting(intent: Intent, begin: int, etag: str) -> Intent:
    """Returns the intent whose taken object may be written over one other content.

    Args:
        begin: of the object that the operator has confirmed.
        etag: of the content that may be overwritten.

    Raises:
        NotAsConfirmed: the partition is not parked for that object.
    """
    taken = taken_object(intent)
    if taken is None or taken[1].begin != begin:
        raise NotAsConfirmed("it is parked for something else by now: look again")
    name, manifest = taken
    return replace(intent, tables={**intent.tables, name: replace(manifest, over=etag)})


def _offset(intent: Intent, today: LogToday, restart_at: int | None) -> int:
    if restart_at is not None:
        return restart_at
    loss = intent.parked
    # Whatever it was parked for, no offset of a former log says where to go on in this one.
    if _is_other_log(intent, today) or (loss and loss.kind in STARTS_ANEW):
        return today.start
    if loss is None or loss.kind in GOES_ON or loss.kind is LossKind.BLOCK_DOUBTFUL:
        return intent.offset
    if loss.kind in CUT_BACK:
        return max(today.start, min(intent.offset, loss.begin, today.end))
    if loss.end is None:
        raise NoRestart(f"{loss.kind.value}, without an end")
    return max(intent.offset, loss.end, today.start)


def _is_new(before: Intent, intent: Intent, offset: int) -> bool:
    """Returns False if records that were passed are read again under their former names: the
    letters of these were counted, and would be taken for those of a lost commit."""
    is_other = intent.incarnation_at(offset) != before.incarnation_at(offset)
    return is_other or offset >= before.offset


def _cut_again(intent: Intent, today: LogToday) -> Intent:
    """Returns the intent of a partition whose log was cut, perhaps once more since it was parked:
    by now, it was written anew from the lower offset on."""
    loss = intent.parked
    if loss is None or loss.kind is not LossKind.SOURCE_TRUNCATED or today.read_end < 0:
        return intent
    return replace(intent, parked=replace(loss, begin=min(loss.begin, today.read_end)))


def _epoch(intent: Intent, today: LogToday, offset: int) -> int:
    """Returns the leader epoch by which the next takeover notices a cut: that of the records that
    were read, if the log may have been cut while the partition was parked."""
    loss = intent.parked
    is_other = _is_other_log(intent, today) or (loss and loss.kind in CUT_BACK)
    if not is_other and intent.leader_epoch >= 0:
        is_cut = 0 <= today.read_end < max(intent.sealed_end, intent.position or 0)
        if is_cut or offset <= max(intent.offset, today.read_end):
            return intent.leader_epoch
    return today.leader_epoch if offset <= today.epoch_end else -1


def _is_other_log(intent: Intent, today: LogToday) -> bool:
    return intent.topic_id is not None and intent.topic_id != today.topic_id


def _cut(intent: Intent, offset: int, restart_at: int | None) -> int | None:
    """Returns the offset from which on the log was written anew; None if it was not."""
    loss = intent.parked
    if loss is None or loss.kind not in CUT_BACK:
        return None
    if loss.kind is LossKind.SOURCE_WENT_BACK and restart_at is not None:
        # Where the restored log begins to differ is known to the operator only.
        return min(loss.begin, offset)
    return loss.begin


def _behind(intent: Intent, offset: int, cut: int | None) -> dict[str, TableRange]:
    """Returns what the intent says of offsets from the new one on.

    A doubtful block is left as it is: its table goes on behind it. Records behind a cut are others
    than those that were sealed.
    """
    loss = intent.parked
    doubtful = (loss.begin, loss.end) if loss and loss.kind is LossKind.BLOCK_DOUBTFUL else None
    tables = {}
    for table, each in intent.tables.items():
        if (each.begin, each.end) == doubtful:
            each = TableRange(each.end, each.end)
        if cut is not None:
            each = _below(each, cut)
        if each.end > offset:
            tables[table] = each.within(offset, each.end)
    return tables


def _older(intent: Intent, offset: int) -> tuple[OlderLog, ...]:
    """Returns the older logs of which anything may be under way. Raises NoRestart."""
    older = intent.older_behind(offset)
    if len(older) > OLDER_LOGS_MAX:
        raise NoRestart(
            f"blocks or objects are under way below the first of {len(older) + 1} cuts, at "
            f"{older[0].end}, and the intent has room for {OLDER_LOGS_MAX + 1}; an offset from "
            "there on gives up what is under way below"
        )
    return older


def _told_behind(intent: Intent, today: LogToday, offset: int) -> ToldMarkers | None:
    """Returns the markers that are told elsewhere, as they are behind an accepted loss.

    Raises NoRestart: they reach over a cut, behind which are other records.
    """
    told, loss = intent.told, intent.parked
    if told is None or _is_other_log(intent, today):
        return None
    if loss is None or loss.kind not in CUT_BACK:
        return told
    if offset < loss.begin:
        raise NoRestart(
            f"{told.count} folders are passed to offsets behind the cut at {loss.begin}, and the "
            f"intent does not name them; open objects below {loss.begin} are lost"
        )
    return None


def _below(block: TableRange, cut: int) -> TableRange:
    """Returns what is left of a range below an offset."""
    if block.begin >= cut:
        return TableRange(cut, cut)
    return block.within(block.begin, cut)
