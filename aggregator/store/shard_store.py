"""Shard store: the replicas of one ClickHouse shard. All calls block, and may come from threads."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import uuid4

from clickhouse_driver import Client
from clickhouse_driver.errors import Error

from aggregator.intents.table_range import KeeperMoment
from aggregator.store.block_memory import is_remembered, read_moment
from aggregator.store.insert_errors import ErrorClass, InsertProblem, classified
from aggregator.store.insertion import InsertFailed, InsertOptions, insert, insert_nothing
from aggregator.store.outgoing_block import OutgoingBlock
from aggregator.store.recognition import (
    Decision,
    Identities,
    ReplicaSight,
    Sight,
    Verdict,
    decide,
    is_running,
    replica_sight,
)
from aggregator.store.replica import Connected, Replica
from aggregator.store.replica_choice import ReplicaChoice
from aggregator.store.schema_reader import TableFacts, read_tables
from aggregator.store.shard_view import ShardView
from aggregator.tables.native_block import NativeBlock
from aggregator.tables.table_schema import COORDINATES, TableSchema
from replicator.clickhouse.errors import ClientSetup
from replicator.clickhouse.server import ClickHouse
from replicator.config.feed_settings import Shard
from replicator.config.security import read_secret

T = TypeVar("T")
DRIVER_ERRORS = (Error, OSError, EOFError)
LACKING = frozenset([60, 81, 218])
"""Errors of a server that does not have the table, or not even its database."""
TRIAL_SECONDS = 5.0
"""Timeout of an insert without rows: the server has nothing to do for it."""
SILENT_SECONDS = 60.0
"""Time for which a replica that did not answer is not asked for its tables, unless it matters."""
LEADS = """
SELECT count(), countIf(startsWith(engine, 'Replicated') AND name NOT IN (
    SELECT table FROM system.replicas WHERE database = %(database)s AND is_leader
)) = 0
FROM system.tables WHERE database = %(database)s AND name = %(table)s
"""
MOST = """
SELECT max(parts) FROM (
    SELECT count() AS parts FROM system.parts
    WHERE database = %(database)s AND table = %(table)s AND active GROUP BY partition_id
)
"""


class NotStored(Exception):
    """Insert or query that failed. `problem` says what to do: see ErrorClass."""

    def __init__(self, problem: InsertProblem) -> None:
        super().__init__(problem.text)
        self.problem = problem


class CannotBeRecognized(Exception):
    """Block that may be stored or not, which nothing can tell. Park its partition.

    The table has no coordinate columns, and its deduplication window does not reach back to the
    block.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTimeouts:
    """Timeouts of a store in seconds.

    Args:
        insert: for each wait for a server, quorum included.
        away: time for which a replica that failed is used only if all others failed too.
    """

    insert: float
    away: float = 10.0


class ShardStore:
    """Tables of one shard, on its replicas.

    Args:
        kept: connections per replica that stay open while nobody uses them.
        make_server: makes the client's side of each replica's server.
    """

    def __init__(
        self,
        shard: Shard,
        timeouts: StoreTimeouts,
        *,
        feed: str,
        kept: int,
        make_server: Callable[..., ClickHouse] = ClickHouse,
    ) -> None:
        self.database = shard.database
        self.quorum = shard.quorum
        self._timeouts = timeouts
        self.insert_seconds = timeouts.insert
        self._setup = ClientSetup(
            f"feeds.{feed}.shards.replicas", f"feeds.{feed}.shards.password_file"
        )
        password = read_secret(shard.password_file) if shard.password_file else ""
        self.replicas = tuple(
            Replica(
                make_server(
                    replace(address, database=shard.database),
                    self._setup,
                    "blocks wait",
                    password=password,
                    ca_file=shard.ca_file,
                    timeout_seconds=timeouts.insert,
                ),
                kept=kept,
            )
            for address in shard.replicas
        )
        self._choice = ReplicaChoice(len(self.replicas), timeouts.away)
        self._view = ShardView()
        self._silent_until = [0.0] * len(self.replicas)

    def close(self) -> None:
        """Ends all connections; calls of other threads that wait for an answer fail."""
        for replica in self.replicas:
            replica.close()

    # -- tables

    def schemas(self, *, is_thorough: bool = True) -> dict[str, TableSchema]:
        """Returns the schemas of the database's tables (see tables())."""
        found = self.tables(is_thorough=is_thorough)
        return {name: facts.schema for name, facts in found.items()}

    def tables(self, *, is_thorough: bool = True) -> Mapping[str, TableFacts]:
        """Returns the tables of the database, as the replicas have them now.

        Args:
            is_thorough: also asks replicas that were silent a moment ago, which takes seconds.

        Raises NotStored if no replica answers, or none has the database.
        """
        now = time.monotonic()
        asked = [at for at, until in enumerate(self._silent_until) if is_thorough or until <= now]
        seen: list[Mapping[str, TableFacts] | None] = [None] * len(self.replicas)
        problems: list[NotStored] = []
        for at in asked or range(len(self.replicas)):
            try:
                seen[at] = self._asked_of(
                    self.replicas[at], lambda it: read_tables(it.client, self.database, it.features)
                )
            except NotStored as error:
                problems.append(error)
                if error.problem.code in LACKING:
                    seen[at] = {}
                else:
                    self._silent_until[at] = time.monotonic() + SILENT_SECONDS
        if len(problems) == len(asked or self.replicas):
            raise problems[-1]
        self._view = ShardView([str(each) for each in self.replicas], seen)
        return self._view.tables

    def facts(self, table: str) -> TableFacts | None:
        """Returns a table as it was read last; None if it was not, or was not there."""
        return self._view.tables.get(table)

    def refusal(self, table: str) -> str:
        """Returns why no block may be inserted into a table, with the mend; empty if it may."""
        return self._view.refusal(table)

    def most_parts(self, table: str) -> int:
        """Returns the number of parts in the table's partition that has most. Raises NotStored."""
        return self._asked(lambda it: most_parts(it.client, self.database, table), table)

    def moment(self, table: str) -> KeeperMoment | None:
        """Returns a moment before which no later block of a table is sent; None for a table without
        ZooKeeper. Raises NotStored."""
        facts = self._view.tables.get(table)
        if facts is None or not facts.schema.is_replicated:
            return None
        return self._asked(lambda it: read_moment(it.client, self.database, table), table)

    # -- blocks

    def insert(
        self,
        block: OutgoingBlock,
        native: NativeBlock,
        rest: str = "",
        not_after: float = math.inf,
    ) -> None:
        """Inserts a block, or a part of it, into one replica: one attempt.

        Args:
            native: rows to insert: those of the block, or the rest.
            rest: digest that names the rest; empty for the whole block.
            not_after: time by the monotonic clock after which the block is not sent any more.

        Raises NotStored.
        """
        name = block.name
        facts = self._view.tables.get(name.table)
        query_id = name.rest(rest) if rest else str(name)
        is_one_part = facts is not None and not facts.partition_key
        self.insert_native(
            name.table, native, query_id, is_one_part=is_one_part, not_after=not_after
        )

    def insert_native(
        self,
        table: str,
        native: NativeBlock,
        query_id: str,
        *,
        is_one_part: bool,
        not_after: float = math.inf,
    ) -> None:
        """Inserts an encoded block into one replica: one attempt.

        Args:
            query_id: names the block, the same whoever inserts it.
            is_one_part: all rows are in one partition of the table, so that the block is stored
                whole or not at all.
            not_after: time by the monotonic clock after which the block is not sent any more.

        Raises NotStored.
        """
        options = InsertOptions(
            query_id=query_id,
            quorum=self.quorum,
            token=query_id,
            timeout_seconds=self._timeouts.insert,
            not_after=not_after,
        )

        def one_insert(it: Connected) -> None:
            insert(it.client, it.features, self.database, table, native, options)

        self._asked(one_insert, table, is_one_part=is_one_part)

    def insert_nothing(self, schema: TableSchema) -> None:
        """Inserts a block without rows: the server says whether it takes inserts into a table.

        Nothing is stored, and no quorum is asked for. Raises NotStored.
        """
        options = InsertOptions(
            query_id=f"sluice-trial-{uuid4()}",
            quorum=0,
            token="",
            timeout_seconds=min(TRIAL_SECONDS, self._timeouts.insert),
        )
        names = [column.name for column in schema.inserted]

        def one_insert(it: Connected) -> None:
            insert_nothing(it.client, it.features, self.database, schema.table, names, options)

        self._asked(one_insert, schema.table)

    def look(self, block: OutgoingBlock, *, is_same: bool, is_patient: bool) -> Decision:
        """Returns what to do with a block that an earlier insert may have stored.

        Args:
            is_same: the block is the one that may have been sent before.
            is_patient: an insert of the block may still end, on a silent replica or in ZooKeeper.

        Raises:
            NotStored: no replica answers.
            CannotBeRecognized: park the partition.
        """
        name = block.name
        # An insert that ends after this question has committed its parts before the next ones.
        running, silent = self._everywhere(lambda it: is_running(it.client, name), lacking=False)
        if not block.has_coordinates:
            return self._look_without_coordinates(block, any(running), is_same=is_same)
        # A replica that lacks the table has no rows, and gets those that others have committed.
        lacking = ReplicaSight(Identities(), is_complete=False)
        sights, still_silent = self._everywhere(lambda it: self._sight(it, block), lacking=lacking)
        sight = Sight(
            tuple(sights),
            any(running),
            silent=max(silent, still_silent) if is_patient else 0,
            uncommitted=sum(len(each.uncommitted) > 0 for each in sights) if is_patient else 0,
        )
        return decide(
            block.identities,
            sight,
            quorum=self.quorum,
            is_deduplicated=is_same and bool(sight.doubt) and self._recognizes(block),
        )

    def _sight(self, it: Connected, block: OutgoingBlock) -> ReplicaSight:
        return replica_sight(it.client, self.database, block.name, block.moment)

    def _look_without_coordinates(
        self, block: OutgoingBlock, is_executed: bool, *, is_same: bool
    ) -> Decision:
        if is_executed:
            return Decision(Verdict.LOOK_AGAIN, why="an earlier insert of the block still runs")
        if is_same and self._recognizes(block):
            return Decision(Verdict.INSERT, why="the table has no coordinates to look for")
        raise CannotBeRecognized(
            f"{block.name.table} lacks some of the columns {', '.join(COORDINATES)}, and its "
            "deduplication window does not reach back to the block"
        )

    def _recognizes(self, block: OutgoingBlock) -> bool:
        """Returns True if a repeat of the block would be recognized by its hash or token."""
        facts = self._view.tables.get(block.name.table)
        if facts is None or facts.window_seconds is None:
            return False
        window, window_seconds = facts.schema.deduplication_window, facts.window_seconds
        return self._asked(
            lambda it: is_remembered(
                it.client,
                self.database,
                block.name.table,
                block.moment,
                window=window,
                window_seconds=window_seconds,
            ),
            block.name.table,
        )

    # -- replicas

    def in_turn(self) -> list[Replica]:
        """Returns the replicas, first the one that is not known to be in trouble."""
        first = self._choice.best(time.monotonic())
        return [self.replicas[first], *self.replicas[:first], *self.replicas[first + 1 :]]

    def answer_of(self, replica: Replica, ask: Callable[[Connected], T]) -> T:
        """Returns the answer of a replica. Raises NotStored; others are asked first then."""
        try:
            return self._asked_of(replica, ask)
        except NotStored as error:
            if error.problem.leaves_replica:
                self._choice.failed(self.replicas.index(replica), time.monotonic())
            raise

    def answer_of_leader(self, table: str, ask: Callable[[Connected], T]) -> T:
        """Returns the answer of the replica that leads a table; of any, if it is not replicated.

        18.16 has one leader for each table, which alone drops partitions: another server hands the
        statement on to it as the user `default`, whom it may not know. Newer servers all lead.

        Raises NotStored, also while there is no leader.
        """
        of = {"database": self.database, "table": table}

        def led(it: Connected) -> tuple[T] | None:
            [(has_table, is_leader)] = it.client.execute(LEADS, of)
            return (ask(it),) if has_table and is_leader else None

        why: NotStored | None = None
        for replica in self.in_turn():
            try:
                answer = self.answer_of(replica, led)
            except NotStored as error:
                why = error
            else:
                if answer is not None:
                    return answer[0]
        text = f"no server leads {table} now"
        nobody = InsertProblem(ErrorClass.WAIT, None, text, may_be_stored=False)
        raise why or NotStored(nobody)

    def _asked(self, ask: Callable[[Connected], T], table: str, *, is_one_part: bool = True) -> T:
        """Returns the answer of the replica that is chosen now, of those that have the table.

        Raises NotStored.
        """
        at = self._choice.best(time.monotonic(), self._view.suited(table))
        try:
            answer = self._asked_of(self.replicas[at], ask, is_one_part=is_one_part)
        except NotStored as error:
            if error.problem.leaves_replica:
                self._choice.failed(at, time.monotonic())
            raise
        self._choice.worked(at)
        return answer

    def _everywhere(self, ask: Callable[[Connected], T], lacking: T) -> tuple[list[T], int]:
        """Returns the answers of all replicas that answer, and the number of the silent ones.

        Raises NotStored if none answers, if none has the table, or if one refuses.

        Args:
            lacking: answer of a replica that does not have the table.
        """
        answers: list[T] = []
        silent: list[NotStored] = []
        without: list[NotStored] = []
        for replica in self.replicas:
            try:
                answers.append(self._asked_of(replica, ask))
            except NotStored as error:
                if error.problem.code in LACKING:
                    without.append(error)
                elif error.problem.error_class in (ErrorClass.REFRESH, ErrorClass.STOP):
                    raise
                else:
                    silent.append(error)
        if not answers:
            raise (silent or without)[-1]
        return answers + [lacking] * len(without), len(silent)

    def _asked_of(
        self, replica: Replica, ask: Callable[[Connected], T], *, is_one_part: bool = True
    ) -> T:
        was_sent = False
        try:
            with replica.connected() as it:
                return ask(it)
        except InsertFailed as error:
            was_sent, cause = error.was_sent, error.error
        except DRIVER_ERRORS as error:
            cause = error
        problem = classified(cause, was_sent=was_sent, is_one_part=is_one_part, setup=self._setup)
        raise NotStored(replace(problem, text=f"{replica}: {problem.text}")) from cause


def most_parts(client: Client, database: str, table: str) -> int:
    """Returns the number of parts in the partition that has most.

    Raises the errors of the driver and of the socket.
    """
    [(parts,)] = client.execute(MOST, {"database": database, "table": table})
    return int(parts)
