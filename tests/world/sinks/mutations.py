"""Mutations: each takes a rule of loading out, and a history has to find that."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.acquisition import Acquired, Acquisition
from aggregator.loader.block_loading import BlockLoading
from aggregator.loader.forced_flush import ForcedFlush
from aggregator.loader.formed_block import FormedBlock
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.loader_assembly import MAKERS, Makers
from aggregator.loader.partition_progress import PartitionProgress
from aggregator.loader.pause_watch import PauseWatch
from aggregator.loader.produced import Produced
from aggregator.loader.shard_tables import ShardTables
from aggregator.store.block_name import ROWS, BlockName
from aggregator.store.identifier import quoted
from aggregator.store.outgoing_block import OutgoingBlock
from aggregator.store.recognition import Decision, Identities, ReplicaSight, Verdict
from aggregator.store.replica import Connected
from aggregator.store.schema_reader import TableFacts
from aggregator.store.shard_store import ShardStore
from aggregator.store.shard_view import ShardView
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.fenced_committer import FencedCommitter
from tests.world.sinks import letters, markers, other_logs, poison, resting
from tests.world.sinks.accepting import Accepting
from tests.world.sinks.courses import (
    AWAY,
    CLOCKS,
    COMMITS,
    CROWDED,
    CUT,
    LEFT_OUT,
    LETTERS_OF_LOGS,
    MANY,
    MANY_CUTS,
    MANY_RETURNS,
    POISONED,
    REBUILDS,
    RECREATED,
    RETURNS,
    SERVERS,
    STALL,
    STILL,
    STOPS,
    TAKEOVERS,
    USUAL,
)
from tests.world.sinks.loaded_feed import Driving
from tests.world.sinks.mutation import Mutation
from tests.world.sinks.questions import OLD_BY_CLOCK
from tests.world.sinks.scene import LETTERS, RESTS, Course

SKEW_SECONDS = 10.0


class CommitsLater(IntentCommitter):
    """Lets blocks be sent while their intent is being committed."""

    async def commit(self, partition: HeldPartition, *produced: Sequence[Produced]) -> None:
        self._last = asyncio.ensure_future(super().commit(partition, *produced))
        await asyncio.sleep(0)


class LettersApart(IntentCommitter):
    """Produces dead letters in a transaction of their own, before that of the intent."""

    async def _commit(
        self, wanted: Mapping[TopicPartition, HeldPartition], produced: Sequence[Produced]
    ) -> None:
        formed = super()._intent
        self._ready = {place: formed(each) for place, each in wanted.items()}
        if produced:
            # The renewed intents of before go with the letters.
            before = {place: each.intent for place, each in wanted.items()}
            effects = self.producer.effects(self.fenced_committer, produced)
            await self.intent_store.commit(self.fenced_committer, before, effects=effects)
        await super()._commit(wanted, ())

    def _intent(self, partition: HeldPartition) -> Intent:
        return self._ready[partition.partition]


class LettersAfter(IntentCommitter):
    """Produces dead letters in a transaction of their own, after that of the intent."""

    async def _commit(
        self, wanted: Mapping[TopicPartition, HeldPartition], produced: Sequence[Produced]
    ) -> None:
        await super()._commit(wanted, ())
        if produced:
            effects = self.producer.effects(self.fenced_committer, produced)
            now = {place: each.intent for place, each in wanted.items()}
            await self.intent_store.commit(self.fenced_committer, now, effects=effects)


class PassesBlocks(IntentCommitter):
    """Commits the end of the blocks that are being loaded as the offset."""

    def _intent(self, partition: HeldPartition) -> Intent:
        intent = super()._intent(partition)
        ends = [each.end for each in intent.blocks.values() if each.begin == intent.offset]
        return replace(intent, offset=max(ends, default=intent.offset))


class FormsAnew(Acquisition):
    """Forgets the blocks of the intents that were taken over: their records form others."""

    async def acquire(self, partitions: Collection[TopicPartition]) -> Acquired:
        acquired = await super().acquire(partitions)
        for place, (intent, epoch) in acquired.taken.items():
            markers = {name: each for name, each in intent.tables.items() if each.is_marker}
            acquired.taken[place] = replace(intent, tables=MappingProxyType(markers)), epoch
        return acquired


class FencesNobody(Acquisition):
    """Replaces intents in transactions of its own id, and leaves their holders alone."""

    def __init__(self, **parts: Any) -> None:
        committer: FencedCommitter = parts["fenced_committer"]

        class Unopened(FencedCommitter):
            """Own committer under the name of another id."""

            async def open(self) -> FencedCommitter:
                return committer

        def committer_of(_: str) -> FencedCommitter:
            return Unopened(parts["source"], committer.transactional_id)

        super().__init__(**{**parts, "committer_of": committer_of})


class AwaitsFlushes(ForcedFlush):
    """Never gives a forced flush up."""

    def _watch(self, progress: Any, now: float, is_stopping: bool) -> None:
        super()._watch(progress, now, is_stopping=True)


class NeverGivenUp(dict[TopicPartition, HeldPartition]):
    """Partitions whose forced flushes are never given up."""

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        assert partition.flush is not None
        partition.flush = AwaitsFlushes(partition.flush.ended_at)
        super().__setitem__(place, partition)


class ForgetsDropped(PartitionProgress[RecordSlice]):
    """Drops records of a table as if nobody had read them."""

    def drop(self, table: str) -> None:
        super().drop(table)
        self._dropped.clear()


class NeverReadAgain(dict[TopicPartition, HeldPartition]):
    """Partitions whose dropped records are not read again."""

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        partition.progress.__class__ = ForgetsDropped
        super().__setitem__(place, partition)


class ReadLast(int):
    """Leader epoch that gives way to that of any batch that is read."""

    def __lt__(self, other: int) -> bool:
        return other >= 0


class LowersEpoch(PartitionProgress[RecordSlice]):
    """Notes the leader epoch of the batch that was read last."""

    @property  # type: ignore[override]
    def leader_epoch(self) -> int:
        return ReadLast(self.__dict__["leader_epoch"])

    @leader_epoch.setter
    def leader_epoch(self, epoch: int) -> None:
        self.__dict__["leader_epoch"] = int(epoch)


class ForgetsEpochs(dict[TopicPartition, HeldPartition]):
    """Partitions whose intents have the leader epoch of the batch that was read last."""

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        partition.progress.__class__ = LowersEpoch
        super().__setitem__(place, partition)


class KeepsRoom(PartitionProgress[RecordSlice]):
    """Drops nothing."""

    def drop(self, table: str) -> None:
        pass


class NeverDropped(dict[TopicPartition, HeldPartition]):
    """Partitions in which tables that stand still keep their room."""

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        partition.progress.__class__ = KeepsRoom
        super().__setitem__(place, partition)


class KeepsBlocks(PartitionProgress[RecordSlice]):
    """Has blocks that seem to take no memory."""

    def block_bytes(self, table: str) -> int:
        return 0


class BlocksStay(dict[TopicPartition, HeldPartition]):
    """Partitions in which blocks that stand still keep their memory."""

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        partition.progress.__class__ = KeepsBlocks
        super().__setitem__(place, partition)


class ForgetsBlocks(PartitionProgress[RecordSlice]):
    """Takes blocks that leave the memory for stored."""

    def leave(self, table: str, offset: int | None = None) -> None:
        super().leave(table, offset)
        if table in self.in_flight:
            self.loaded(table)


class BlocksForgotten(dict[TopicPartition, HeldPartition]):
    """Partitions that take blocks for stored once they are in memory no more."""

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        partition.progress.__class__ = ForgetsBlocks
        super().__setitem__(place, partition)


class Unsealed(HeldPartition):
    """Partition that tells its checks of nothing behind its position."""

    sealed_end = property(lambda _: 0)  # type: ignore[assignment]


class NothingSealed(dict[TopicPartition, HeldPartition]):
    """Partitions whose blocks are not looked for in the log while they are read again."""

    def __setitem__(self, place: TopicPartition, partition: HeldPartition) -> None:
        partition.__class__ = Unsealed
        super().__setitem__(place, partition)


class LooksNot(ShardStore):
    """Inserts doubtful blocks as if the table had been looked at, and had none of their rows."""

    def look(self, block: OutgoingBlock, **_: Any) -> Decision:
        return Decision(Verdict.INSERT)


class HeedsNoQuorum(ShardStore):
    """Takes the acknowledgement of one server for enough."""

    quorum = property(lambda _: 0, lambda *_: None)  # type: ignore[assignment]


class TrustsAnyCopy(ShardStore):
    """Takes rows that one replica shows for stored by the quorum."""

    def look(self, block: OutgoingBlock, **more: Any) -> Decision:
        quorum, self.quorum = self.quorum, 1
        try:
            return super().look(block, **more)
        finally:
            self.quorum = quorum


class TrustsAnyPart(ShardStore):
    """Takes rows for stored whether or not ZooKeeper knows their part."""

    def _sight(self, it: Connected, block: OutgoingBlock) -> ReplicaSight:
        sight = super()._sight(it, block)
        rows = Identities.joined((sight.rows, sight.uncommitted))
        return replace(sight, rows=rows, uncommitted=Identities())


class ComparesClocks(ShardStore):
    """Leaves out parts whose time by the server's clock is before that of the intent by ours."""

    def _sight(self, it: Connected, block: OutgoingBlock) -> ReplicaSight:
        sight, name = super()._sight(it, block), block.name
        before_s = block.sealed_at_ms / 1000 - SKEW_SECONDS
        assert isinstance(name, BlockName)
        asked = {"table": name.table, "before_s": before_s}
        old = [part for (part,) in it.client.execute(OLD_BY_CLOCK, asked)]
        query = ROWS.format(table=quoted(self.database, name.table))
        named = {**asdict(name), "old": old}
        seen = [
            Identities(np.array(offset, np.int64), np.array(row, np.int64))
            for _, offset, row in it.client.execute(query, named)
        ]
        rows = Identities.joined(seen)
        among = sight.rows.among(rows)
        return replace(sight, rows=Identities(sight.rows.offset[among], sight.rows.row[among]))


class BelievesTheFirst(ShardStore):
    """Takes what the first replica describes for the tables of the shard, if it answers."""

    def tables(self, *, is_thorough: bool = True) -> Mapping[str, TableFacts]:
        found = super().tables(is_thorough=is_thorough)
        if self._view.seen[0] is None:
            return found
        self._view = ShardView(self._view.names[:1], self._view.seen[:1])
        return self._view.tables


class NeverPaused(PauseWatch):
    """Notices no pause."""

    def __init__(self) -> None:
        super().__init__(math.inf)

    def was_paused(self, since: float) -> bool:
        return False

    async def _run(self) -> None:
        await asyncio.Event().wait()


class LoadsBehind(ShardTables):
    """Takes blocks for stored once they are on their way: markers pass them at once."""

    async def load(self, place: TopicPartition, block: FormedBlock, *, is_doubtful: bool) -> None:
        self._last = asyncio.ensure_future(super().load(place, block, is_doubtful=is_doubtful))
        await asyncio.sleep(0)


class Unwatched(ShardTables):
    """Loads blocks without a watch over pauses."""

    def _matching(self, topic: str) -> Any:
        shard = super()._matching(topic)
        loading: BlockLoading = shard.loading
        if not isinstance(loading.watch, NeverPaused):
            loading.watch = NeverPaused()
        return shard


def _stores(store: type[ShardStore]) -> Makers:
    """Returns makers whose tables are on another kind of store."""

    def tables(*args: Any, make_store: Callable[..., ShardStore], **more: Any) -> ShardTables:
        connected = make_store

        def made(*parts: Any, **options: Any) -> ShardStore:
            own = connected(*parts, **options)
            own.__class__ = store
            return own

        return ShardTables(*args, make_store=made, **more)

    return Makers(shard_tables=tables)


MUTATIONS = (
    Mutation(37, "intents are not awaited", Makers(intent_committer=CommitsLater), USUAL),
    Mutation(37, "markers are not awaited", Makers(shard_tables=LoadsBehind), USUAL),
    Mutation(38, "the offset passes blocks", Makers(intent_committer=PassesBlocks), USUAL),
    Mutation(39, "blocks are formed anew", Makers(acquisition=FormsAnew), USUAL),
    Mutation(39, "holders are not fenced", Makers(acquisition=FencesNobody), USUAL),
    Mutation(42, "dead letters come before", Makers(intent_committer=LettersApart), USUAL),
    Mutation(42, "dead letters come behind", Makers(intent_committer=LettersAfter), USUAL),
)
OF_TAKEOVERS = (Mutation(39, "tables are not looked at", _stores(LooksNot), TAKEOVERS),)
OF_CLOCKS = (
    Mutation(58, "clocks of loaders and servers are compared", _stores(ComparesClocks), CLOCKS),
)
OF_STOPS = (Mutation(40, "pauses are not noticed", Makers(shard_tables=Unwatched), STOPS),)
OF_SERVERS = (
    Mutation(41, "the quorum is not asked for", _stores(HeedsNoQuorum), SERVERS),
    Mutation(41, "any copy is enough", _stores(TrustsAnyCopy), SERVERS),
)
OF_COMMITS = (Mutation(41, "uncommitted parts count", _stores(TrustsAnyPart), COMMITS),)
OF_LEFT_OUT = (
    Mutation(
        12, "what is pending is not ended", Makers(fenced_committer=markers.EndsNothing), LEFT_OUT
    ),
    Mutation(
        42,
        "letters of a lost commit are not looked for",
        Makers(sent_letters=markers.SeesNone),
        LEFT_OUT,
    ),
)
OF_POISON = (
    Mutation(
        59,
        "tables: a failing partition takes its session along",
        Makers(shard_tables=poison.TakesAllAlong),
        POISONED,
    ),
    Mutation(
        59,
        "tables: neighbours of a refused record become letters",
        Makers(shard_tables=poison.BlamesNeighbours),
        POISONED,
    ),
)
OF_STALLS = (Mutation(45, "flushes are not given up", Makers(partitions=NeverGivenUp), STALL),)
OF_CROWDS = (
    Mutation(45, "stalled tables keep their room", Makers(partitions=NeverDropped), CROWDED),
)
OF_RETURNS = (
    Mutation(45, "dropped records are not read again", Makers(partitions=NeverReadAgain), RETURNS),
)
OF_MANY = (Mutation(45, "blocks of stalled tables stay", Makers(partitions=BlocksStay), MANY),)
OF_MANY_RETURNS = (
    Mutation(
        45,
        "blocks that were left are taken for stored",
        Makers(partitions=BlocksForgotten),
        MANY_RETURNS,
    ),
)
OF_LETTERS = (
    Mutation(57, "letters have the times of records", Makers(effects=letters.KeepsTimes), LETTERS),
    Mutation(57, "no letter is cut", Makers(effects=letters.CutsNothing), LETTERS),
    Mutation(57, "letters beyond a batch are left out", Makers(effects=letters.SendsSome), LETTERS),
    Mutation(57, "headers are texts", Makers(effects=letters.GarblesHeaders), LETTERS),
)
OF_REBUILDS = (Mutation(58, "one replica is believed", _stores(BelievesTheFirst), REBUILDS),)
OF_RESTS = resting.mutations(54, {**resting.BEGINNING, **resting.SILENT}, RESTS)
OF_AWAY = resting.mutations(55, resting.RENEWING, AWAY)
OF_STILL = resting.mutations(55, resting.READING, STILL)


def _changing(name: str, course: Course, **parts: Any) -> Mutation[Course]:
    """Returns the mutation of an operator's command."""
    accepting = Accepting(other_logs.CHANGES[name], **parts)
    return Mutation(56, name, MAKERS, replace(course, accepting=accepting))


OF_CUT = (
    _changing("a cut log keeps its name", CUT),
    Mutation(
        56,
        "a cut log is compared with the committed offset",
        Makers(acquisition=other_logs.ComparesOffset),
        CUT,
    ),
    Mutation(
        56, "records read again lower the leader epoch", Makers(partitions=ForgetsEpochs), CUT
    ),
)
OF_LETTERS_OF_LOGS = (
    Mutation(
        42,
        "letters are told apart by offsets only",
        Makers(sent_letters=markers.TellsNothingApart),
        LETTERS_OF_LOGS,
    ),
)
OF_MANY_CUTS = (
    _changing("a log that is cut twice forgets its first name", MANY_CUTS),
    Mutation(
        56,
        "a cut is compared with the position only",
        Makers(partitions=NothingSealed),
        MANY_CUTS,
    ),
)
OF_RECREATED = (
    _changing("a topic that comes back keeps its name", RECREATED, asks_store=False),
    Mutation(
        56,
        "the memory knows of no logs",
        MAKERS,
        replace(RECREATED, driving=Driving(other_logs.ForgetsLogs)),
    ),
    Mutation(
        56,
        "acceptances are not noted",
        MAKERS,
        replace(RECREATED, accepting=Accepting(make_memory=other_logs.NotesNothing)),
    ),
)
