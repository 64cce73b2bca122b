"""Life of one Kafka partition: loaders that come and go, an intent, and the objects in a store."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import nsmallest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggregator.intents.intent import Intent, decode, encode
from aggregator.intents.table_range import Manifest
from aggregator.intents.told_markers import Marker
from aggregator.intents.verdicts import between, within
from aggregator.objects.object_draft import Versions
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Ending, Rotation
from replicator.kafka.client.custody import Custody

Ints = npt.NDArray[np.int64]


class Logged(NamedTuple):
    """Record of the log; `name` is its encoded partition."""

    offset: int
    name: str
    timestamp_ms: int = -1
    size: int = 1


@dataclass(frozen=True)
class Part:
    """Records of one encoded partition."""

    records: tuple[Logged, ...]

    @property
    def offset(self) -> Ints:
        return np.array([each.offset for each in self.records], np.int64)

    @property
    def timestamp_ms(self) -> Ints:
        return np.array([each.timestamp_ms for each in self.records], np.int64)

    @property
    def record_bytes(self) -> Ints:
        return np.array([each.size for each in self.records], np.int64)

    @property
    def size_bytes(self) -> int:
        return sum(each.size for each in self.records)

    def at(self, which: slice) -> Part:
        return Part(self.records[which])

    def between(self, begin: int, end: int) -> Part:
        return Part(tuple(each for each in self.records if begin <= each.offset < end))


@dataclass
class Life:
    """Partition whose loaders die.

    Args:
        log: records in the order of their offsets.
        end: offset behind the last record, and behind what follows it.
        omits: encoded partition whose records are in no object.
        versions: of schemas that share objects.
    """

    log: list[Logged]
    end: int
    rotation: Rotation
    omits: str = ""
    omitted: dict[tuple[str, int], int] = field(default_factory=dict)
    """Number of its records that are passed, by its first offset."""
    versions: Versions | None = None
    store: dict[tuple[str, int], tuple[Logged, ...]] = field(default_factory=dict)
    """Complete objects by encoded partition and first offset."""
    now: float = 0.0
    topic: list[tuple[str, int]] = field(default_factory=list)
    """Encoded partitions and ends of the objects that were told, in order."""
    intent: Intent = field(init=False)
    progress: ObjectProgress[Part] = field(init=False)
    _telling: list[tuple[str, int]] = field(init=False, default_factory=list)
    _taken: dict[tuple[str, int], list[Logged]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.intent = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="")

    def begin(self) -> None:
        """Begins a loader that takes over."""
        self.progress = ObjectProgress(self.rotation, self._recalled(), versions=self.versions)
        self._taken, self._telling = {}, []
        for name, manifest in self.intent.blocks.items():
            if (name, manifest.begin) in self.store:
                self._pass(name, manifest.end)
            elif name == self.omits:
                self.omitted[name, manifest.begin] = manifest.records
                self._pass(name, manifest.end)

    def _recalled(self) -> Intent:
        """Returns the intent with the markers that are told elsewhere."""
        told = self.intent.told
        if told is None:
            return self.intent
        since = [
            (name, Marker(end, at)) for at, (name, end) in enumerate(self.topic) if at >= told.begin
        ]
        markers = told.found(since, self.intent.tables)
        assert markers is not None, "other markers"
        return replace(self.intent, told=replace(told, markers=markers))

    def read(self, count: int) -> None:
        """Reads so many further offsets."""
        begin, end = self.progress.position, min(self.progress.position + count, self.end)
        found = [each for each in self.log if begin <= each.offset < end]
        whole = Part(tuple(found))
        by_name: dict[str, list[Logged]] = {}
        for each in found:
            by_name.setdefault(each.name, []).append(each)
        parts = {name: Part(tuple(some)) for name, some in by_name.items()}
        self.progress.add(whole.offset, end, parts, self.now)

    def write(self) -> None:
        """Writes everything that may be written."""
        drafts = [*self.progress.writable()]
        drafts += [(name, draft) for name, _, draft in self.progress.replays()]
        for name, draft in drafts:
            records = self._taken.setdefault((name, draft.begin), [])
            records += [each for part in draft.take() for each in part.records]

    def cut(self, number: int) -> None:
        """Writes a record of one object, and ends it there, as dead letters do."""
        drafts = [(name, it) for name, it in self.progress.writable() if it.size_bytes]
        for name, draft in drafts[number % len(drafts) :][:1] if drafts else ():
            records = self._taken.setdefault((name, draft.begin), [])
            records += [each for part in draft.take(0) for each in part.records]
            before = self.progress.buffered_bytes, self.progress.open_records
            self.progress.end_taken(name, Ending.MEMORY)
            assert draft.is_taken and draft.records == len(records)
            assert (self.progress.buffered_bytes, self.progress.open_records) == before

    def seal(self) -> None:
        """Seals what is written, and commits the intent."""
        self.write()
        for name, draft in [*self.progress.writable()]:
            if not draft.is_taken:
                continue
            manifest = self._manifest(name, draft.begin, draft.end)
            if self.progress.can_seal(name, manifest):
                self.progress.seal(name, manifest)
        self.commit()

    def seal_ended(self) -> None:
        """Seals what is ended, if anything is; otherwise nothing is committed."""
        if any(draft.ending is not None for _, draft in self.progress.writable()):
            self.seal()

    def seal_some(self, count: int) -> None:
        """Seals so many of the first objects that have ended, as far as there is room."""
        ended = [each for each in self.progress.writable() if each[1].ending is not None]
        for name, draft in nsmallest(count, ended, key=lambda each: each[1].begin):
            records = self._taken.setdefault((name, draft.begin), [])
            records += [each for part in draft.take() for each in part.records]
            size = {"records": len(records), "size_bytes": 0, "crc32c": 0}
            manifest = Manifest(begin=draft.begin, end=draft.end, **size)
            if self.progress.can_seal(name, manifest):
                self.progress.seal(name, manifest)
        self.commit()

    def _manifest(self, name: str, begin: int, end: int) -> Manifest:
        records = self._taken[name, begin]
        assert [each for each in self.log if each.name == name and begin <= each.offset < end] == (
            records
        )
        return Manifest(
            begin=begin,
            end=end,
            records=len(records),
            left_out=len(records) if name == self.omits else 0,
            size_bytes=0,
            crc32c=0,
            digest="",
            fingerprint="",
        )

    def commit(self) -> None:
        intent = self.progress.intent(Custody.HELD, 7, 1, "loader")
        assert decode(*encode(intent)) == intent
        assert within(intent) is None
        assert [*between(self.intent, intent)] == []
        self.intent = intent
        self.topic += self._telling
        for name, end in self._telling:
            self.progress.told_at(name, end, len(self.topic) - len(self._telling))
        self._telling = []

    def complete(self, names: int, *, is_told: bool) -> None:
        """Completes so many of the objects that the intent names.

        Args:
            is_told: the loader lives to know it.
        """
        self.write()
        found = [(name, manifest) for name, manifest in self.intent.blocks.items()]
        replays = {name: draft for name, _, draft in self.progress.replays()}
        for name, manifest in found[:names]:
            if self.progress.in_flight.get(name) != manifest:
                continue
            if name in replays and not replays[name].is_taken:
                continue
            if name == self.omits:
                self.omitted[name, manifest.begin] = manifest.records
                if is_told:
                    self._pass(name, manifest.end)
                continue
            key, records = (name, manifest.begin), tuple(self._taken[name, manifest.begin])
            assert len(records) == manifest.records
            assert key not in self.store, "completed twice"
            self.store[key] = records
            if is_told:
                self._pass(name, manifest.end)

    def _pass(self, name: str, end: int) -> None:
        """Passes an object; its record comes into the topic with the next intent."""
        known = len(self.topic)
        self._telling.append((name, end))
        self.progress.passed(name)
        if known % 3:
            self.progress.told_at(name, end, known)
