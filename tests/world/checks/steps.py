"""Checks at each step of a history: true entries, true runs."""

from __future__ import annotations

from aiokafka.record import MemoryRecords

from balancer.topic_partition import TopicPartition
from replicator.config.names import runs_topic_name
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.offset_map.runs_topic import decode as decode_run
from tests.world.checks.entry_view import EntryView
from tests.world.checks.log_reading import LogReading
from tests.world.checks.records_of_log import RecordsOfLog
from tests.world.checks.wrong import Wrong
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene


class StepChecks:
    """Checks of one route. Whatever they find ends the history at that moment.

    - Every record before an entry's source offset stands before its target offset, once.
    - The runs of all these records are on disk by then.
    - Each run joins a source record with the same record in the target.
    """

    def __init__(self, scene: Scene) -> None:
        self._loop = scene.loop
        source, target = scene.clusters
        self._sent: dict[TopicPartition, RecordsOfLog] = {}
        self._landed: dict[TopicPartition, RecordsOfLog] = {}
        self._compared: dict[TopicPartition, int] = {}
        self._runs: dict[TopicPartition, dict[int, int]] = {}
        self._rewinds, self._compactions = scene.rewinds, scene.compactions
        self._seen_rewinds: dict[TopicPartition, int] = {}
        self._ahead: dict[TopicPartition, int] = {}
        """Records that rewinds have repeated: the target has so many more than the source."""
        for place in scene.places:
            ours, theirs = source.partition(*place), target.partition(*place)
            assert ours is not None and theirs is not None
            self._sent[place] = RecordsOfLog(ours, is_stable=True)
            self._landed[place] = RecordsOfLog(theirs, is_stable=False)
            self._runs[place] = {}
        EntryView(target, ROUTE, self._entry_seen)
        self._readings: dict[int, LogReading] = {}
        for partition in target.topics[runs_topic_name(ROUTE.key)].partitions:
            self._readings[partition.number] = LogReading(partition)
            partition.observers.append(_Advances(self._runs_advanced))

    def _wrong(self, place: TopicPartition, text: str) -> None:
        self._loop.fail(Wrong(f"{place.topic}-{place.partition}: {text}"))

    # -- entries

    def _entry_seen(self, place: TopicPartition, entry: Entry) -> None:
        landed = self._landed[place].up_to(entry.target_offset)
        sent = self._sent_before(place, entry.source_offset, landed[1])
        ahead = self._ahead.get(place, 0)
        done = self._rewinds.done(place)
        if len(done) > self._seen_rewinds.get(place, 0):
            self._seen_rewinds[place] = len(done)
            carried = self._sent_before(place, done[-1].was_at, landed[1])
            ahead += len(carried[0]) - len(sent[0])
            self._ahead[place] = ahead
            self._compared[place] = len(sent[0])
        begin = min(self._compared.get(place, 0), len(sent[0]))
        is_same = sent[1][begin:] == landed[1][begin + ahead :]
        if len(sent[0]) + ahead != len(landed[0]) or not is_same:
            self._wrong(
                place,
                f"{len(sent[0])} records stand before source offset {entry.source_offset}, and "
                f"{len(landed[0])} before target offset {entry.target_offset}, or others: {entry}",
            )
        runs = self._runs[place]
        unknown = [at for at in sent[0][begin:] if at not in runs]
        if unknown:
            self._wrong(place, f"no run of source offsets {unknown[:5]} is on disk: {entry}")
        self._compared[place] = len(sent[0])

    def _sent_before(
        self, place: TopicPartition, end: int, landed: list[bytes]
    ) -> tuple[list[int], list[bytes]]:
        """Returns offsets and values of the source's records below an offset, without those that
        compaction has kept from being carried."""
        offsets, values = self._sent[place].up_to(end)
        left = self._compactions.left(place, list(zip(offsets, values, strict=True)), landed)
        return [offset for offset, _ in left], [value for _, value in left]

    # -- runs

    def _runs_advanced(self, partition: Partition) -> None:
        for batch in self._readings[partition.number].batches():
            for message in _messages(batch):
                key, piece = decode_run(message.key, message.value)
                place = TopicPartition(key.topic, key.partition)
                for row in zip(piece.sources, piece.targets, piece.counts, strict=True):
                    self._run_seen(place, *map(int, row))

    def _run_seen(self, place: TopicPartition, source: int, target: int, count: int) -> None:
        sent, landed = self._sent[place], self._landed[place]
        for step in range(count):
            ours, theirs = sent.value_at(source + step), landed.value_at(target + step)
            if ours is None or ours != theirs:
                self._wrong(
                    place,
                    f"a run joins source offset {source + step} with target offset {target + step},"
                    f" {ours!r} with {theirs!r}",
                )
                return
            self._runs[place][source + step] = target + step


class _Advances(Observer):
    """Observer that is told when a log has grown."""

    def __init__(self, act: object) -> None:
        self._act = act

    def advanced(self, partition: Partition) -> None:
        assert callable(self._act)
        self._act(partition)


def _messages(batch: Batch) -> list[object]:
    records = MemoryRecords(batch.data)
    found = []
    while (one := records.next_batch()) is not None:
        found += list(one)
    return found
