"""Judge of one cluster: keeps the histories of its entries, and judges what is read. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID

from aggregator.verifier.entry_parts import EntryParts, Whole
from aggregator.verifier.entry_rules import HeldRecord
from aggregator.verifier.epoch_history import EpochHistory, Producer
from aggregator.verifier.finding import Finding, Kind, Weight
from aggregator.verifier.group_commit import GroupCommit
from aggregator.verifier.merge import TimedMerge
from aggregator.verifier.owners import Owner, Owners, Subject
from aggregator.verifier.partition_history import History, judge, restored, stale
from replicator.config.cluster_name import ClusterName
from replicator.kafka.client.custody import Custody
from replicator.kafka.protocol.commit_record import Commit
from replicator.kafka.tail.tail_position import Portion, TailPosition, Version

LOOK_BACK_RECORDS = 1_000_000
"""Records of a log that are read again at a start, so that the last entries are seen again."""

END_OF_TIME_MS = 1 << 62

IsGone = Callable[[str, UUID | None], bool]
"""Returns True if a topic with this id is known to exist no more."""


class Judgement(NamedTuple):
    """Findings about one entry, with the entry before it.

    Args:
        at_ms: time of the commit or deletion; of a stale entry, the time at which it was noticed.
    """

    subject: Subject
    at_ms: int
    before: Commit | None
    after: Commit | None
    findings: tuple[Finding, ...]


class LastEntry(NamedTuple):
    """Last entry of a partition.

    Args:
        first_offset: committed offset of the first entry that was seen.
    """

    entry: Any
    first_offset: int


class Stored(NamedTuple):
    """History of a partition as it is kept over restarts.

    Args:
        log: partition of `__consumer_offsets`.
    """

    group: str
    topic: str
    partition: int
    log: int
    version: Version
    commit: Commit | None
    gap_at: int | None
    accepted_at: int | None


class _Key(NamedTuple):
    group: str
    topic: str
    partition: int


class _Holding(NamedTuple):
    """Held entry, on its way through the merge of all logs."""

    subject: Subject
    commit: Commit
    transactional_id: str
    producer: Producer


@dataclass(slots=True)
class ClusterJudge:
    """Judges the entries of one cluster.

    Args:
        owners: by group; commits of other groups are not looked at.
        skew_ms: largest difference between the clocks of brokers.
        is_gone: asks the cluster; a deleted topic takes its entries along.
        since_ms: entries that were committed before are neither counted nor reported; the next ones
            are compared with them.
    """

    cluster: ClusterName
    owners: Owners
    skew_ms: int
    is_gone: IsGone = lambda topic, topic_id: False
    since_ms: int = 0
    positions: dict[int, TailPosition] = field(default_factory=dict)
    """Position up to which each partition of `__consumer_offsets` is judged."""
    judged: Counter[str] = field(default_factory=Counter)
    """Entries that were judged, right or wrong, by owner."""
    kinds: Counter[tuple[Kind, Weight]] = field(default_factory=Counter)
    caught_up_ms: dict[int, int] = field(default_factory=dict)
    """Time, by partition of the log, up to which everything that was committed is judged."""
    _histories: dict[_Key, History[Any]] = field(default_factory=dict)
    _logs: dict[_Key, int] = field(default_factory=dict)
    _firsts: dict[_Key, int] = field(default_factory=dict)
    _merge: TimedMerge[_Holding] = field(init=False)
    _epochs: EpochHistory = field(init=False)
    _stale: set[_Key] = field(default_factory=set)
    _parts: EntryParts = field(default_factory=EntryParts)

    def __post_init__(self) -> None:
        self._merge = TimedMerge((), self.skew_ms)
        self._epochs = EpochHistory(self.skew_ms)

    # -- over restarts

    def restore(self, positions: Mapping[int, TailPosition], stored: list[Stored]) -> None:
        """Takes over what an earlier verifier knew; each entry has to be seen again."""
        self.positions = dict(positions)
        for each in stored:
            owner = self.owners.get(each.group)
            if owner is None:
                continue
            if owner.part is not None and not owner.is_first_part:
                self._parts.restore(owner.part, each.log, each.version, each.commit)
                continue
            key = _Key(each.group, each.topic, each.partition)
            history = restored(
                owner.rules, each.version, each.commit, each.gap_at, each.accepted_at
            )
            self._note(key, each.log, history)
            entry = history.entry
            if entry and each.commit and entry.custody is Custody.HELD:
                producer = Producer(entry.producer_id, entry.epoch)
                self._epochs.judge(entry.transactional_id, producer, each.commit.at_ms)

    def stored(self) -> list[Stored]:
        """Returns what a later verifier needs to know of entries, and of their further parts."""
        return [
            Stored(*key, self._logs[key], each.version, each.commit, each.gap_at, each.accepted_at)
            for key, each in self._histories.items()
        ] + [
            Stored(group, part.topic, 0, last.log, last.version, last.commit, None, None)
            for group, owner in self.owners.items()
            if (part := owner.part) and part.number and (last := self._parts.last(part))
        ]

    def begins(self) -> dict[int, TailPosition]:
        """Returns the positions from which to read: those of the last entries of each log."""
        first = {number: position.offset for number, position in self.positions.items()}
        for key, each in self._histories.items():
            number, (era, offset) = self._logs[key], each.version
            position = self.positions.get(number)
            if position is None or era != position.era:
                continue
            if position.offset - offset <= LOOK_BACK_RECORDS:
                first[number] = min(first[number], offset)
        return {
            number: position._replace(offset=first[number], leader_epoch=-1)
            if first[number] < position.offset
            else position
            for number, position in self.positions.items()
        }

    # -- judging

    def begin(self, positions: Mapping[int, TailPosition]) -> None:
        """Notes that reading begins anew, at these positions of all partitions of the log.

        The histories of another topic of that name are those of a former cluster.
        """
        known = {position.topic_id for position in self.positions.values()}
        if known and known.isdisjoint(each.topic_id for each in positions.values()):
            self._histories.clear()
            self._logs.clear()
            self._parts.clear()
            self.positions = {}
        self._histories = {
            key: replace(each, is_seen=False) for key, each in self._histories.items()
        }
        for number, position in positions.items():
            known_to = self.positions.get(number)
            if known_to is None or position.era != known_to.era:
                self.positions[number] = position
        self.caught_up_ms.clear()
        self._merge = TimedMerge(positions, self.skew_ms)

    def take(self, number: int, portion: Portion[GroupCommit]) -> Iterator[Judgement]:
        """Yields the judgements with findings on what was read of one partition of the log."""
        for version, record in portion.told:
            owner = self.owners.get(record.committed.group)
            if owner is None or not owner.has(record.committed):
                continue
            wholes: Iterable[Whole] = (Whole(number, version, record),)
            if owner.part is not None:
                wholes = self._parts.take(owner.part, number, version, record)
            yield from self._all_judged(wholes)
        position = self.positions.get(number)
        if position is None or portion.end[1:3] > position[1:3]:
            self.positions[number] = portion.end
        if portion.caught_up_ms is not None:
            self.caught_up_ms[number] = portion.caught_up_ms
            self._merge.reach(number, portion.caught_up_ms)
        yield from self._judged_epochs(self._merge.take())
        if (read_to_ms := self.judged_to_ms) is not None:
            yield from self._all_judged(self._parts.late(read_to_ms - self.skew_ms))
            yield from self._torn(read_to_ms - self.skew_ms)

    def end(self) -> Iterator[Judgement]:
        """Yields the judgements that still waited for later entries."""
        yield from self._judged_epochs(self._merge.rest())
        yield from self._all_judged(self._parts.late(END_OF_TIME_MS))
        # The parts that are missing now may still come, and nobody reads on.
        yield from self._torn(END_OF_TIME_MS, Weight.UNKNOWN)

    def stale(self, now_ms: int, stale_ms: int) -> Iterator[Judgement]:
        """Yields a judgement, once each, on every held entry that was not renewed.

        Logs that are not read to their end hide newer entries, and are left out.
        """
        for key, each in self._histories.items():
            caught_up_ms = self.caught_up_ms.get(self._logs[key])
            if key in self._stale or caught_up_ms is None:
                continue
            if found := stale(each, min(now_ms, caught_up_ms), stale_ms):
                self._stale.add(key)
                judgement = Judgement(self._subject(key), now_ms, None, each.commit, (found,))
                yield self._counted(judgement)

    @property
    def stale_count(self) -> int:
        """Number of partitions whose held entry was not renewed."""
        return len(self._stale)

    @property
    def partitions(self) -> Counter[str]:
        """Number of partitions with an entry, by owner."""
        found = list(self._histories.items())
        return Counter(self.owners[key.group].name for key, each in found if each.commit)

    def entries(self, owner: str) -> dict[Subject, LastEntry]:
        """Returns the readable entries of an owner's partitions."""
        found = {}
        for key, each in self._histories.items():
            if each.entry is not None and self.owners[key.group].name == owner:
                found[self._subject(key)] = LastEntry(each.entry, self._firsts[key])
        return found

    @property
    def judged_to_ms(self) -> int | None:
        """Time up to which every entry of the cluster is judged; None: not known."""
        if not self.positions or len(self.caught_up_ms) < len(self.positions):
            return None
        return min(self.caught_up_ms.values())

    def _all_judged(self, wholes: Iterable[Whole]) -> Iterator[Judgement]:
        for whole in wholes:
            found = self._judged(self.owners[whole.record.committed.group], whole)
            if found is not None:
                yield self._counted(found)

    def _judged(self, owner: Owner, whole: Whole) -> Judgement | None:
        number, version, record, is_behind_unread = whole
        key, commit = _Key(*record.committed), record.commit
        before = self._histories.get(key)
        if before is not None and is_behind_unread:
            before = replace(before, is_seen=False)
        if record.flaw:
            finding = Finding(Kind.UNREADABLE, record.flaw)
            if before is None or before.version < version:
                self._note(key, number, History(version, None, None))
                return Judgement(
                    self._subject(key), record.at_ms, _commit(before), None, (finding,)
                )
            return None
        done = judge(owner.rules, before, version, commit)
        self._note(key, number, done.history)
        if not done.is_new:
            return None
        self._stale.discard(key)
        entry, at_ms = done.history.entry, commit.at_ms if commit else record.at_ms
        if commit is not None and entry is not None and entry.custody is Custody.HELD:
            self._hold(number, key, commit, entry)
        if at_ms < self.since_ms:
            return None
        self.judged[owner.name] += 1
        findings = done.findings
        if commit is None and before is not None:
            findings = self._explained(owner, key, before, findings)
        if not findings:
            return None
        return Judgement(self._subject(key), at_ms, _commit(before), commit, findings)

    def _torn(self, read_to_ms: int, weight: Weight = Weight.ANOMALY) -> Iterator[Judgement]:
        """Yields a judgement, once each, on every last entry that lacks a part."""
        for first, number, version, commit, at_ms, text in self._parts.torn(read_to_ms):
            key = _Key(first.first, first.topic, 0)
            before = self._histories.get(key)
            self._note(key, number, History(version, commit, None))
            finding = Finding(Kind.UNREADABLE, text, weight)
            yield self._counted(
                Judgement(self._subject(key), at_ms, _commit(before), commit, (finding,))
            )

    def _note(self, key: _Key, number: int, history: History[Any]) -> None:
        self._histories[key], self._logs[key] = history, number
        if history.commit is not None:
            self._firsts.setdefault(key, history.commit.offset)

    def _hold(self, number: int, key: _Key, commit: Commit, entry: HeldRecord) -> None:
        producer = Producer(entry.producer_id, entry.epoch)
        holding = _Holding(self._subject(key), commit, entry.transactional_id, producer)
        self._merge.add(number, commit.at_ms, holding)

    def _judged_epochs(self, released: Iterator[_Holding]) -> Iterator[Judgement]:
        for each in released:
            at_ms = each.commit.at_ms
            found = self._epochs.judge(each.transactional_id, each.producer, at_ms)
            if found is not None and at_ms >= self.since_ms:
                yield self._counted(Judgement(each.subject, at_ms, None, each.commit, (found,)))

    def _explained(
        self, owner: Owner, key: _Key, before: History[Any], findings: tuple[Finding, ...]
    ) -> tuple[Finding, ...]:
        """Returns findings about a deletion; the deletion of the topic deletes its entries too."""
        topic_id = owner.rules.topic_id(before.entry) if before.entry else None
        if findings and self.is_gone(key.topic, topic_id):
            return tuple(
                replace(each, text=f"{each.text} with its topic", weight=Weight.ACCEPTED)
                for each in findings
            )
        return findings

    def _counted(self, judgement: Judgement) -> Judgement:
        self.kinds.update((each.kind, each.weight) for each in judgement.findings)
        return judgement

    def _subject(self, key: _Key) -> Subject:
        return Subject(self.cluster, self.owners[key.group].name, key.topic, key.partition)


def _commit(history: History[Any] | None) -> Commit | None:
    return history.commit if history else None
