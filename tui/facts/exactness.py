"""Diagnoses of an installation that has run for a while: how records may have been lost or doubled,
and the repairs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from uuid import UUID

from aggregator.objects.told_object import ToldObject
from aggregator.store.table_engine import TableEngine
from replicator.kafka.admin.topic import Topic
from replicator.kafka.client.progress_expiry import ProgressExpiry
from tui.facts.counted import counted

SKEW_SECONDS = 2.0
"""Difference of two clocks, in seconds, that is told of."""
STILL_SECONDS = 600.0
"""Least age of a feed's entry, in seconds, from which records behind it count as left standing."""
EXPIRING_PART = 1 / 2
"""Part of the retention after which an entry counts as renewed by nobody."""
SHOWN_MAX = 3
COMPARE = "compare rows with records: sluice verify check --rows"


class Verdict(StrEnum):
    """Verdict of a diagnosis, the worse first."""

    HAPPENED = "happened"
    POSSIBLE = "possible"


class DiagnosisKind(StrEnum):
    """Kind of a diagnosis: the cause of lost or doubled records."""

    EXPIRED = "expired entries"
    RECREATED = "topic created anew"
    LETTERS = "dead letters"
    LETTER_LIMITS = "limits of dead letters"
    CLOCK = "clocks"
    STILL = "partitions that stand still"
    ENGINE = "table engine"
    DOUBLED = "doubled coordinates"


@dataclass(frozen=True, slots=True, order=True)
class Diagnosis:
    """Diagnosis of one thing.

    Args:
        where: the cluster, topic, table or server.
        repair: what an operator does.
    """

    verdict: Verdict
    kind: DiagnosisKind
    where: str
    text: str
    repair: str


@dataclass(frozen=True, slots=True)
class Exactness:
    """Diagnoses of a region.

    Args:
        problems: reasons why something could not be asked.
    """

    region: str
    diagnoses: tuple[Diagnosis, ...]
    problems: tuple[str, ...]

    @property
    def has_happened(self) -> bool:
        """True if records were lost or doubled."""
        return any(each.verdict is Verdict.HAPPENED for each in self.diagnoses)


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """Progress entry of a partition: an intent of a feed, or a ledger entry of a route.

    Args:
        committed_ms: Unix time of its last commit; None: it was deleted, and not committed again.
        topic_id: of the topic that it names; None if it names none.
        losses: accepted by operators.
        dead_letters: counted since its adoption; 0 for a route.
        incarnation: of the log, by which records of topics of one name are told apart; 0 where
            no version has told them apart.
        offset: committed offset of a feed.
        is_parked: the partition waits for an operator.
        ahead_seconds: by which the committer's clock was ahead of the broker's at that commit.
    """

    topic: str
    partition: int
    committed_ms: int | None
    topic_id: UUID | None = None
    losses: int = 0
    dead_letters: int = 0
    incarnation: int = 0
    offset: int = 0
    is_parked: bool = False
    ahead_seconds: float = 0.0

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.partition

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class OwnerFacts:
    """Entries of one feed or route in one cluster.

    Args:
        owner: "feed flights", "route west>east".
        topic_ids: of the topics that are there.
    """

    owner: str
    cluster: str
    entries: Sequence[EntryFacts]
    expiry: ProgressExpiry
    topic_ids: Mapping[str, UUID]

    @property
    def where(self) -> str:
        return f"{self.owner} in {self.cluster}"

    @property
    def is_feed(self) -> bool:
        return self.owner.startswith("feed ")

    @property
    def is_route(self) -> bool:
        return self.owner.startswith("route ")


def expiry(facts: OwnerFacts, now_ms: int) -> Iterator[Diagnosis]:
    """Yields diagnoses of entries that have expired, or expire unless a daemon renews them."""
    gone = [
        each
        for each in facts.entries
        if each.committed_ms is None and each.topic in facts.topic_ids
    ]
    if gone:
        text, repair = f"{_some(gone)}: the entry is gone ({facts.expiry})", COMPARE
        if facts.is_feed or facts.is_route:
            text += "; a version that adopted such a partition anew loaded its records again"
            repair = f"{COMPARE}; then sluice aggregate accept-loss"
        if facts.is_route:
            repair = "sluice audit, then sluice accept-loss"
        yield Diagnosis(Verdict.HAPPENED, DiagnosisKind.EXPIRED, facts.where, text, repair)
    old = [
        each
        for each in facts.entries
        if each.committed_ms is not None
        and now_ms - each.committed_ms >= facts.expiry.offsets_seconds * EXPIRING_PART * 1000
    ]
    if old:
        oldest_ms = min(each.committed_ms or 0 for each in old)
        left_hours = facts.expiry.offsets_seconds / 3600 - (now_ms - oldest_ms) / 3_600_000
        text = (
            f"{_some(old)}: not committed for {(now_ms - oldest_ms) / 3_600_000:.1f} h, expires in "
            f"{max(left_hours, 0):.1f} h ({facts.expiry})"
        )
        daemon = "sluice replicate" if facts.is_route else "sluice aggregate"
        repair = f"start {daemon}, which renews it; or raise offsets.retention.minutes"
        yield Diagnosis(Verdict.POSSIBLE, DiagnosisKind.EXPIRED, facts.where, text, repair)


def recreated(facts: OwnerFacts) -> Iterator[Diagnosis]:
    """Yields diagnoses of topics that were deleted and created again."""
    other = [
        each
        for each in facts.entries
        if each.topic_id is not None
        and facts.topic_ids.get(each.topic, each.topic_id) != each.topic_id
    ]
    if other:
        text = f"{_some(other)}: the topic was created anew since; its partitions are not read"
        accept = "sluice accept-loss" if facts.is_route else "sluice aggregate accept-loss"
        yield Diagnosis(Verdict.POSSIBLE, DiagnosisKind.RECREATED, facts.where, text, accept)
    unnamed = [each for each in facts.entries if each.losses and not each.incarnation]
    lossy = unnamed if facts.is_feed else []
    if lossy:
        text = (
            f"{_some(lossy)}: losses were accepted; if that was for a topic that was created anew, "
            "a version that knew rows by offset alone took new records for stored ones after a kill"
        )
        yield Diagnosis(Verdict.POSSIBLE, DiagnosisKind.RECREATED, facts.where, text, COMPARE)


def letters(facts: OwnerFacts, held: Mapping[tuple[str, int], int]) -> Iterator[Diagnosis]:
    """Yields diagnoses of dead letters that intents count and the topic does not hold.

    Args:
        held: number of dead letters in the topic, by topic and partition of their records.
    """
    short = [
        each
        for each in facts.entries
        if held.get((each.topic, each.partition), 0) < each.dead_letters
    ]
    if short:
        counted_letters = sum(each.dead_letters for each in short)
        there = sum(held.get((each.topic, each.partition), 0) for each in short)
        text = (
            f"{_some(short)}: of {counted(counted_letters, 'counted dead letter')}, {there:,} are "
            "in their topic"
        )
        repair = f"the records are in the source for as long as it keeps them; {COMPARE} names them"
        yield Diagnosis(Verdict.HAPPENED, DiagnosisKind.LETTERS, facts.where, text, repair)


def letter_limits(cluster: str, topic: Topic, bytes_wanted: int) -> Iterator[Diagnosis]:
    """Yields diagnoses of a dead-letter topic that may refuse or delete dead letters.

    Args:
        bytes_wanted: of the largest record batch that is produced to it.
    """
    values = topic.configs.values
    flaws = []
    if int(values.get("max.message.bytes", bytes_wanted)) < bytes_wanted:
        flaws.append((f"max.message.bytes is below {bytes_wanted}", f"set it to {bytes_wanted}"))
    if values.get("retention.ms", "-1") != "-1":
        flaws.append((f"retention.ms is {values['retention.ms']}", "set it to -1"))
    if values.get("retention.bytes", "-1") != "-1":
        flaws.append((f"retention.bytes is {values['retention.bytes']}", "set it to -1"))
    if "compact" in values.get("cleanup.policy", ""):
        flaws.append(("it is compacted", "set cleanup.policy to delete"))
    for text, repair in flaws:
        where = f"topic {topic.name} in {cluster}"
        yield Diagnosis(Verdict.POSSIBLE, DiagnosisKind.LETTER_LIMITS, where, text, repair)


def clock(server: str, ahead_seconds: float) -> Iterator[Diagnosis]:
    """Yields the diagnosis of a server whose clock differs from this host's.

    Args:
        ahead_seconds: by which the server's clock is ahead; negative if it is behind.
    """
    if abs(ahead_seconds) >= SKEW_SECONDS:
        side = "ahead of" if ahead_seconds > 0 else "behind"
        text = (
            f"its clock is {abs(ahead_seconds):.0f} s {side} this host's; a version that compared "
            "them may have stored a block again after a kill"
        )
        yield Diagnosis(
            Verdict.POSSIBLE, DiagnosisKind.CLOCK, server, text, "synchronise the clocks"
        )


def loader_clocks(facts: OwnerFacts) -> Iterator[Diagnosis]:
    """Yields the diagnosis of loaders whose clocks were ahead of the brokers'."""
    ahead = [each for each in facts.entries if each.ahead_seconds >= SKEW_SECONDS]
    if ahead:
        seconds = max(each.ahead_seconds for each in ahead)
        text = (
            f"{_some(ahead)}: the loader's clock was {seconds:.0f} s ahead of the broker's at its "
            "last commit; a version that compared it with a replica's may have stored a block "
            "again after a kill"
        )
        repair = f"synchronise the clocks; {COMPARE}"
        yield Diagnosis(Verdict.POSSIBLE, DiagnosisKind.CLOCK, facts.where, text, repair)


def may_stand_still(facts: OwnerFacts, now_ms: int, stale_seconds: float) -> list[EntryFacts]:
    """Returns the entries that stand still if records are behind them.

    Args:
        stale_seconds: time within which a loader commits again what it holds.
    """
    still_ms = max(STILL_SECONDS, stale_seconds) * 1000
    return [
        each
        for each in facts.entries
        if each.committed_ms is not None
        and now_ms - each.committed_ms >= still_ms
        and not each.is_parked
        and each.topic_id is not None
        and facts.topic_ids.get(each.topic) == each.topic_id
    ]


def standing_still(
    facts: OwnerFacts, unread: Sequence[EntryFacts], now_ms: int
) -> Iterator[Diagnosis]:
    """Yields the diagnosis of partitions whose records nobody loads.

    Args:
        unread: entries of may_stand_still behind which there are records.
    """
    if unread:
        least_ms = min(now_ms - (each.committed_ms or 0) for each in unread)
        text = (
            f"{_some(unread)}: records wait behind the committed offset, and no loader has "
            f"committed for {least_ms / 60_000:.0f} min; a version whose dead letters had the time "
            "of their record, or a size that their topic refuses, stood still at such a record"
        )
        repair = (
            "start sluice aggregate of this version, which goes on there; if it does not, "
            "sluice aggregate status names the reason"
        )
        yield Diagnosis(Verdict.POSSIBLE, DiagnosisKind.STILL, facts.where, text, repair)


def engine(where: str, kind: TableEngine) -> Iterator[Diagnosis]:
    """Yields the diagnosis of a table whose engine takes rows away."""
    if refusal := kind.refusal:
        text, _, repair = refusal.rpartition("; ")
        yield Diagnosis(Verdict.POSSIBLE, DiagnosisKind.ENGINE, where, text, f"{repair}; {COMPARE}")


@dataclass(frozen=True, slots=True)
class DoubledRows:
    """Coordinates of a partition that a table has more than once.

    Args:
        coordinates: that stand there more than once.
        surplus: rows beyond one for each of them.
        first, last: their least and greatest offset.
    """

    cluster: str
    topic: str
    partition: int
    coordinates: int
    surplus: int
    first: int
    last: int


def doubled(where: str, found: Iterable[DoubledRows]) -> Iterator[Diagnosis]:
    """Yields the diagnoses of doubled rows of a table on one replica."""
    for each in found:
        partition = f"{each.topic}-{each.partition} of {each.cluster}"
        text = (
            f"{partition}: {counted(each.coordinates, 'coordinate')} stand there more than once, "
            f"{counted(each.surplus, 'row')} too many, offsets {each.first} to {each.last}"
        )
        repair = (
            "copy the rows of these offsets into a new table once each (SELECT DISTINCT), or "
            "delete the offsets and load them again"
        )
        yield Diagnosis(Verdict.HAPPENED, DiagnosisKind.DOUBLED, where, text, repair)


def overlapping(where: str, told: Iterable[ToldObject]) -> Iterator[Diagnosis]:
    """Yields the diagnoses of objects of one folder that share offsets."""
    by_folder: dict[tuple[str, str, int, int, str], list[ToldObject]] = {}
    for each in told:
        if not each.is_empty:
            log = each.cluster, each.topic, each.partition, each.incarnation
            by_folder.setdefault((*log, each.key.rpartition("/")[0]), []).append(each)
    for objects in by_folder.values():
        ordered = sorted(objects, key=lambda each: (each.begin, each.end))
        for one, other in pairwise(ordered):
            if other.begin < one.end and one.layout == other.layout:
                text = f"{one.key} and {other.key} share offsets from {other.begin} on"
                repair = "sluice verify check --rows; then delete the object that was written last"
                yield Diagnosis(Verdict.HAPPENED, DiagnosisKind.DOUBLED, where, text, repair)


def _some(entries: Sequence[EntryFacts]) -> str:
    """Returns the first partitions by name, and the number of the others."""
    names = [str(each) for each in entries[:SHOWN_MAX]]
    more = len(entries) - len(names)
    return ", ".join(names) + (f" and {counted(more, 'more partition')}" if more else "")
