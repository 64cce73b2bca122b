"""Parts of entries: an entry that lies in several groups is judged once all its parts were read.

The parts of an entry are committed in one transaction, each as the committed offset of a group of
its own, and so in different partitions of `__consumer_offsets`. Part 0 decides: it says how many
parts there are, and the entry takes its place and time. Pure.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from aggregator.verifier.group_commit import GroupCommit
from replicator.kafka.protocol.commit_record import Commit
from replicator.kafka.tail.tail_position import Version

WAITING_MAX = 10_000
"""Entries of an owner whose parts are waited for. The logs are read side by side, so that these are
few; the oldest of more are passed over."""


class Sign(NamedTuple):
    """Mark of the parts of one commit.

    Args:
        parts: number of the parts.
        commit: equal for parts of one commit only.
    """

    parts: int
    commit: Hashable


class PartGroup(NamedTuple):
    """Group that holds one part of an entry.

    Args:
        number: of the part.
        first: group of part 0.
        topic: topic under which the parts are committed, at its partition 0.
        sign: returns the mark of a part by its number; None if it cannot be read.
    """

    number: int
    first: str
    topic: str
    sign: Callable[[int, Commit], Sign | None]


class Whole(NamedTuple):
    """Entry with all its parts, at the place of part 0.

    Args:
        log: partition of `__consumer_offsets`.
        is_behind_unread: entries were passed over before it, as parts of theirs were compacted
            away.
    """

    log: int
    version: Version
    record: GroupCommit
    is_behind_unread: bool = False


class Torn(NamedTuple):
    """Newest entry of a group of part 0, a part of which is not the entry's.

    Args:
        at_ms: time of the commit or deletion that tore it.
    """

    first: PartGroup
    log: int
    version: Version
    commit: Commit
    at_ms: int
    text: str


class LastPart(NamedTuple):
    """Last record that was read of a group.

    Args:
        commit: None: it was deleted, or cannot be read.
    """

    log: int
    version: Version
    commit: Commit | None
    at_ms: int
    sign: Sign | None


@dataclass(slots=True)
class _Parts:
    """Parts that were read of one owner's entries.

    Args:
        heads: records of part 0 that wait, for their other parts or behind one that does. A
            deletion, and a part that cannot be read, has no mark.
        waiting: the marks of these.
        others: by the number of the part, by their marks in the order of their log; from the last
            whole entry on.
        last: last record of each group, by the number of the part.
    """

    heads: deque[tuple[Sign | None, Whole]] = field(default_factory=deque)
    waiting: Counter[Sign | None] = field(default_factory=Counter)
    others: dict[int, dict[Sign, Commit]] = field(default_factory=dict)
    last: dict[int, LastPart] = field(default_factory=dict)
    is_behind_unread: bool = False
    told: tuple[Version, int, Version | None] | None = None

    def add(self, number: int, last: LastPart, whole: Whole) -> None:
        """Adds the next record of a group."""
        self.last[number] = last
        if number == 0:
            self.heads.append((last.sign, whole))
            self.waiting[last.sign] += 1
            if len(self.heads) > WAITING_MAX:
                self._pass_over()
        elif last.sign is not None and last.commit is not None:
            others = self.others.setdefault(number, {})
            # Behind all others, also if the same commit was made before.
            others.pop(last.sign, None)
            others[last.sign] = last.commit
            if len(others) > WAITING_MAX:
                del others[next(iter(others))]

    def ready(self, read_to_ms: int = 0) -> Iterator[Whole]:
        """Yields the entries, in their order, that wait for nothing any more."""
        while self.heads:
            sign, head = self.heads[0]
            if sign is None or not (missing := self._missing(sign)):
                self._take_first()
                yield self._whole(sign, head)
                self.is_behind_unread = False
            elif self._is_past(missing) or (len(self.heads) > 1 and _at_ms(head) < read_to_ms):
                self._pass_over()
            else:
                return

    def _missing(self, sign: Sign) -> list[int]:
        return [each for each in range(1, sign.parts) if sign not in self.others.get(each, ())]

    def _is_past(self, numbers: list[int]) -> bool:
        """Returns True if a group already has a part of an entry behind the first one: then that of
        the first one was compacted away."""
        return any(
            (last := self.last.get(each)) and last.sign and last.sign in self.waiting
            for each in numbers
        )

    def _take_first(self) -> None:
        sign, _ = self.heads.popleft()
        self.waiting[sign] -= 1
        if not self.waiting[sign]:
            del self.waiting[sign]

    def _pass_over(self) -> None:
        self._take_first()
        self.is_behind_unread = True

    def _whole(self, sign: Sign | None, head: Whole) -> Whole:
        whole = head._replace(is_behind_unread=self.is_behind_unread)
        if sign is None or head.record.commit is None:
            return whole
        texts = [head.record.commit.metadata]
        for number in range(1, sign.parts):
            others = self.others[number]
            while (oldest := next(iter(others))) != sign:
                del others[oldest]
            texts.append(others[sign].metadata)
        commit = replace(head.record.commit, metadata="\n".join(texts))
        return whole._replace(record=head.record._replace(commit=commit))


class EntryParts:
    """Parts of all entries of a cluster that have some."""

    def __init__(self) -> None:
        self._of: dict[PartGroup, _Parts] = {}

    def clear(self) -> None:
        """Forgets all parts: the log is another one."""
        self._of.clear()

    def take(
        self, group: PartGroup, log: int, version: Version, record: GroupCommit
    ) -> Iterator[Whole]:
        """Yields the entries that are whole with the next record of a group.

        A deletion of part 0, and a part 0 that cannot be read, are passed on as they are. Parts of
        an entry are one line each of its metadata.
        """
        commit = record.commit
        sign = group.sign(group.number, commit) if commit and not record.flaw else None
        last = LastPart(log, version, commit, commit.at_ms if commit else record.at_ms, sign)
        parts = self._of.setdefault(_first(group), _Parts())
        parts.add(group.number, last, Whole(log, version, record))
        yield from parts.ready()

    def late(self, read_to_ms: int) -> Iterator[Whole]:
        """Yields the entries that waited behind others, whose parts would have been read by now.

        Args:
            read_to_ms: time up to which everything that was committed was read.
        """
        for parts in self._of.values():
            yield from parts.ready(read_to_ms)

    def torn(self, read_to_ms: int) -> Iterator[Torn]:
        """Yields, once each, the newest entries that are not whole.

        Args:
            read_to_ms: time up to which everything that was committed was read.
        """
        for first, parts in self._of.items():
            head = parts.last.get(0)
            if head is None or head.sign is None or head.commit is None:
                continue
            for number in range(1, head.sign.parts):
                last = parts.last.get(number)
                if last is not None and last.sign == head.sign:
                    continue
                at_ms = max(head.at_ms, last.at_ms if last else 0)
                told = head.version, number, last.version if last else None
                if at_ms < read_to_ms and told != parts.told:
                    parts.told = told
                    text = f"part {number} of {head.sign.parts} {_flaw(last)}"
                    yield Torn(first, head.log, head.version, head.commit, at_ms, text)
                break

    # -- over restarts

    def restore(self, group: PartGroup, log: int, version: Version, commit: Commit | None) -> None:
        """Takes over the last record of a group; that of part 0 has to be read again."""
        if group.number == 0:
            return
        parts = self._of.setdefault(_first(group), _Parts())
        sign = group.sign(group.number, commit) if commit else None
        at_ms = commit.at_ms if commit else 0
        parts.last[group.number] = LastPart(log, version, commit, at_ms, sign)
        if commit is not None and sign is not None:
            parts.others.setdefault(group.number, {})[sign] = commit

    def last(self, group: PartGroup) -> LastPart | None:
        """Returns the last record that was read of a group, None if none was."""
        parts = self._of.get(_first(group))
        return parts.last.get(group.number) if parts else None


def _first(group: PartGroup) -> PartGroup:
    return group._replace(number=0)


def _at_ms(whole: Whole) -> int:
    return whole.record.commit.at_ms if whole.record.commit else whole.record.at_ms


def _flaw(last: LastPart | None) -> str:
    if last is None:
        return "is not there"
    return (
        "was deleted, or cannot be read"
        if last.sign is None
        else "is not of the same commit as part 0"
    )
