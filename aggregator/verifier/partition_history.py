"""History of one partition's committed entries, and the judgement on the next one. Pure.

All entries of a partition are in one group, and so in one partition of `__consumer_offsets`. Their
order there is the order in which they were committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic

from aggregator.verifier.entry_rules import E, EntryRules, UnreadableRecord
from aggregator.verifier.finding import Finding, Kind, Weight
from replicator.kafka.client.custody import Custody
from replicator.kafka.protocol.commit_record import Commit
from replicator.kafka.tail.tail_position import Version

COUNTED = (Kind.GAP, Kind.SURPLUS)
"""Findings that come from counting records."""

PASSED = "entries before it were compacted away unread"
FIRST_SEEN = "no entry before it was seen"
BEHIND_UNREADABLE = "the entry before it cannot be read"
BEHIND_DELETED = "it stands behind a deletion"


@dataclass(frozen=True, slots=True)
class History(Generic[E]):
    """Last entry that was seen of a partition.

    Args:
        version: of its record in `__consumer_offsets`.
        commit: None: it was deleted.
        entry: the commit decoded; None: deleted, or unreadable.
        is_seen: False after reading began anew, until this record is read again. Compaction removes
            superseded records from older ones on. So while this record is still there, none was
            removed between it and the next one.
        gap_at: reference since which a gap was reported; None: none. Each entry up to the next
            reference shows the same gap again.
        accepted_at: reference since which an operator accepted a loss; None: none. The count since
            then cannot be right, because what was loaded before is not in it.
        deleted: last entry before the deletion; None: there was none, or it is not known any more.
    """

    version: Version
    commit: Commit | None
    entry: E | None
    is_seen: bool = True
    gap_at: int | None = None
    accepted_at: int | None = None
    deleted: E | None = None


@dataclass(frozen=True, slots=True)
class Judged(Generic[E]):
    """Judgement on one record.

    Args:
        history: from now on.
        is_new: False for a record that was judged before.
        findings: empty means that it is right.
    """

    history: History[E]
    is_new: bool
    findings: tuple[Finding, ...] = ()


def judge(
    rules: EntryRules[E], before: History[E] | None, version: Version, commit: Commit | None
) -> Judged[E]:
    """Returns the judgement on the next record of a partition."""
    if before is not None and version <= before.version:
        if version == before.version and commit == before.commit:
            return Judged(replace(before, is_seen=True), is_new=False)
        return Judged(before, is_new=False)
    if commit is None:
        last = (before.entry or before.deleted) if before else None
        return Judged(History(version, None, None, deleted=last), True, tuple(_deleted(before)))
    try:
        entry = rules.decode(commit.offset, commit.metadata)
    except UnreadableRecord as error:
        is_again = before is not None and _is_again(before.commit, commit)
        finding = Finding(Kind.UNREADABLE, str(error))
        return Judged(History(version, commit, None), True, () if is_again else (finding,))
    reference = rules.reference(entry)
    gap_at = before.gap_at if before else None
    accepted_at = before.accepted_at if before else None
    if before and before.entry and entry.losses > before.entry.losses:
        accepted_at = reference
    is_accepted = accepted_at is not None and accepted_at == reference
    findings = tuple(
        replace(each, weight=Weight.ACCEPTED) if is_accepted and each.kind in COUNTED else each
        for each in _findings(rules, before, entry)
    )
    if any(each.kind is Kind.GAP for each in findings):
        gap_at = reference
    history = History(version, commit, entry, gap_at=gap_at, accepted_at=accepted_at)
    return Judged(history, True, findings)


def restored(
    rules: EntryRules[E],
    version: Version,
    commit: Commit | None,
    gap_at: int | None,
    accepted_at: int | None = None,
) -> History[E]:
    """Returns a history as it was stored; its record has to be seen again."""
    entry = None
    if commit is not None:
        try:
            entry = rules.decode(commit.offset, commit.metadata)
        except UnreadableRecord:
            entry = None
    return History(version, commit, entry, is_seen=False, gap_at=gap_at, accepted_at=accepted_at)


def stale(history: History[E], now_ms: int, stale_ms: int) -> Finding | None:
    """Returns the finding about a held entry that was not renewed for `stale_ms`.

    A parked partition waits for its operator, and nobody renews its entry.
    """
    entry, commit = history.entry, history.commit
    if entry is None or commit is None or entry.parked or entry.custody is not Custody.HELD:
        return None
    age_ms = now_ms - commit.at_ms
    if age_ms <= stale_ms:
        return None
    holder = f"held by {entry.transactional_id}"
    return Finding(Kind.STALE, f"{holder}, and not renewed for {age_ms // 1000} s")


def _findings(rules: EntryRules[E], before: History[E] | None, entry: E) -> Iterator[Finding]:
    """Yields all findings about a readable entry."""
    yield from rules.within(before.entry if before else None, entry)
    if before is None or before.entry is None:
        if not rules.is_first(entry):
            yield Finding(Kind.UNSEEN, _why_unseen(before), Weight.UNKNOWN)
        if before is not None and before.deleted is not None:
            yield from rules.across_deletion(before.deleted, entry)
        return
    is_known_gap = before.gap_at is not None and before.gap_at == rules.reference(entry)
    for each in rules.between(before.entry, entry):
        # Between entries that do not follow each other at once, only the count may have moved on.
        if each.kind is not Kind.GAP or (before.is_seen and not is_known_gap):
            yield each
    if not before.is_seen:
        yield Finding(Kind.UNSEEN, PASSED, Weight.UNKNOWN)


def _deleted(before: History[E] | None) -> Iterator[Finding]:
    if before is None:
        # Its entry may have been deleted at any time before.
        yield Finding(Kind.VANISHED, "was deleted before anything was seen of it", Weight.UNKNOWN)
    elif before.commit is not None:
        yield Finding(Kind.VANISHED, "was deleted")


def _why_unseen(before: History[E] | None) -> str:
    if before is None:
        return FIRST_SEEN
    return BEHIND_DELETED if before.commit is None else BEHIND_UNREADABLE


def _is_again(before: Commit | None, commit: Commit) -> bool:
    """Returns True for the very commit before, renewed."""
    return before is not None and (before.offset, before.metadata) == (
        commit.offset,
        commit.metadata,
    )
