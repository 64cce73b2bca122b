"""Partition start: whether a partition without an intent was never loaded, or has lost its intent.

Begun anew although it was loaded, it would be loaded twice. So it begins only if that is proven:
nothing remembers it, and either the memory is whole or the store shows that it has none of its
rows. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from aggregator.driver.adoption_memory import Remembered
from aggregator.intents.intent import Intent
from aggregator.intents.stored import LogName, Stored
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.client.progress_expiry import ProgressExpiry

TABLE_CHARACTERS_MAX = 30
"""Characters of a table's name that an advice has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutIntent:
    """Partition of a feed that has no intent, as far as anything else tells of it.

    Args:
        topic_id: of today's topic.
        log_start, log_end: of today's log; the end is None where it is not known.
        was_adopted: the witness or the memory says so.
        remembered: its last note in the memory, if it can be read.
        is_memory_whole: a partition that is not remembered was never adopted.
    """

    topic_id: UUID
    log_start: int
    log_end: int | None
    was_adopted: bool
    remembered: Remembered | None
    is_memory_whole: bool
    expiry: ProgressExpiry

    @property
    def needs_all_told(self) -> bool:
        """True where all that was ever told of its store counts: to prove that it is new, or to
        name the offset at which it goes on. What the memory noted may be an hour old."""
        return self.was_adopted or not self.is_memory_whole


class NotKnownYet(Exception):
    """The store cannot tell just now whether it has records of a partition. Ask again."""


def loss_of(partition: WithoutIntent, stored: Stored) -> Loss | None:
    """Returns why a partition must not begin; None if it was never loaded. Raises NotKnownYet."""
    noted = partition.remembered
    if noted and noted.topic_id and noted.topic_id != partition.topic_id:
        log = f"the new log is [{partition.log_start}, {_shown(partition.log_end)})"
        return Loss(LossKind.SOURCE_RECREATED, noted.offset, None, log)
    if stored.is_passing and (partition.was_adopted or stored.next_offset is not None):
        # The offset to go on at is told once all have answered: another one may have more rows.
        raise NotKnownYet(stored.doubt)
    if partition.was_adopted:
        begin = noted.offset if noted else partition.log_start
        return Loss(LossKind.INTENT_GONE, begin, None, _advice(partition, stored))
    if stored.next_offset is not None:
        return Loss(LossKind.INTENT_GONE, partition.log_start, None, _advice(partition, stored))
    if partition.is_memory_whole or not stored.doubt or partition.log_end == 0:
        return None
    if stored.is_passing:
        raise NotKnownYet(stored.doubt)
    detail = f"nothing proves that it was never loaded: {stored.doubt}; --restart-at 0 loads it all"
    return Loss(LossKind.INTENT_GONE, partition.log_start, None, detail)


def parked_intent(partition: WithoutIntent, loss: Loss, free_id: str) -> Intent:
    """Returns the intent of a partition that waits for an operator.

    Args:
        free_id: transactional id of intents that nobody holds.
    """
    noted = partition.remembered or Remembered(None, partition.log_start, 0)
    intent = noted.lost_intent(free_id)
    was = noted.topic_id if loss.kind is LossKind.SOURCE_RECREATED else None
    return replace(intent, topic_id=was or partition.topic_id).park(loss)


def _advice(partition: WithoutIntent, stored: Stored) -> str:
    """Returns where to go on, as far as anything tells, within an intent's room for it.

    Tables, and folders of objects, are not loaded up to the same offset. With several of them the
    operator has two offsets to choose from, each with what it costs.
    """
    noted = partition.remembered
    log = LogName(noted.incarnation, noted.log_begin, noted.former) if noted else LogName()
    next_offset = stored.next_in(log)
    # Of a later log than the one that was noted, the note says nothing.
    sure = noted.offset if noted and not stored.is_later(log.incarnation) else None
    known = [each for each in (sure, next_offset) if each is not None]
    told = f"{partition.expiry}"
    if noted:
        told += f", noted at {noted.offset}"
    if next_offset is not None:
        told += f", stored below {next_offset}"
    if stored.doubt:
        told += f", {stored.doubt}"
    if not known:
        return f"--restart-at ({told})"
    high = max(known)
    ends = stored.tables_in(log)
    behind = sorted((end, name) for name, end in ends.items() if end < high)
    lacking = "other folders" if stored.has_folders else _named([name for _, name in behind])
    if not lacking:
        return f"--restart-at {high} goes on ({told})"
    # Below the note everything was loaded.
    least = 0 if stored.has_folders else behind[0][0]
    low = max(partition.log_start, least) if sure is None else sure
    if low >= high:
        return f"--restart-at {high} goes on ({told})"
    return (
        f"--restart-at {high} repeats none, may lose records of {lacking} from {low} on; "
        f"--restart-at {low} may repeat others ({told})"
    )


def _named(tables: Sequence[str]) -> str:
    """Returns the first of some tables, and how many more there are; empty for none."""
    if not tables:
        return ""
    more = f" and {len(tables) - 1} more" if tables[1:] else ""
    return f"{tables[0][:TABLE_CHARACTERS_MAX]}{more}"


def _shown(offset: int | None) -> str:
    return "?" if offset is None else str(offset)
