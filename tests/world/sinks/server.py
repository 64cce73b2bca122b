"""Server of ClickHouse in a world: one replica of all tables of a shard.

It executes inserts and answers questions, follows the log of each table, and has a session with the
keeper. It can be killed, stopped, slow, and cut off from the keeper.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Coroutine, Mapping
from contextvars import Context
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from clickhouse_driver.errors import ServerException

from aggregator.store.server_features import ASKED, RECEIVE_TIMEOUT, TOKEN
from tests.world.sinks.keeper import Keeper, KeptTable, Part
from tests.world.sinks.line import Line
from tests.world.sinks.native_rows import END, rows_of
from tests.world.sinks.questions import answered
from tests.world.virtual_loop import VirtualLoop

UNKNOWN_TABLE = 60
SESSION_SECONDS = 8.0
"""Time after which the keeper takes a silent server for dead."""
GHOST_SECONDS = (5.0, 20.0)
"""Time after which a server removes a part of its own that the keeper does not know."""


@dataclass(frozen=True, slots=True)
class AskedInsert:
    """Insert as it arrives: everything but its data."""

    query_id: str
    table: str
    columns: tuple[str, ...]
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """Sample block: names and types of the columns of an insert."""

    columns_with_types: list[tuple[str, str]]


class Server:
    """Server with its disk.

    Args:
        name: of the host.
        has_token: the server recognizes blocks by tokens; otherwise by the hash of their bytes.
    """

    def __init__(
        self,
        name: str,
        keeper: Keeper,
        loop: VirtualLoop,
        dice: random.Random,
        *,
        has_token: bool = False,
    ) -> None:
        self.name, self.keeper, self.loop, self.dice = name, keeper, loop, dice
        self.replica_name = name
        """Name that ZooKeeper has of it."""
        self.settings = frozenset(ASKED) - (frozenset() if has_token else {TOKEN})
        self.is_up = self.is_stopped = False
        self.has_session = False
        self.loses_answers = False
        """True: the keeper's answers to commits are lost; half of the commits are made. The parts
        of the others are shown until the server removes them."""
        self.slowness = 1.0
        self.lacks_tables = False
        """It was rebuilt, and its tables are not created yet."""
        self.life = 0
        self.parts: dict[str, dict[Part, float]] = {name: {} for name in keeper.tables}
        """Parts on the disk, with the times at which they came."""
        self.pointers = dict.fromkeys(keeper.tables, 0)
        """Number of entries of each table's log that were copied into the queue."""
        self.queues: dict[str, list[Part]] = {name: [] for name in keeper.tables}
        self.running: list[str] = []
        """Query ids of the inserts that run."""
        self.lines: list[Line] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._resumed = asyncio.Event()
        self._resumed.set()
        keeper.servers[name] = self
        self.start()

    # -- the process

    def start(self) -> None:
        """Starts the process, unless it runs."""
        if self.is_up:
            return
        self.is_up = True
        self.life += 1
        self.running = []
        for table, parts in self.parts.items():
            # Parts that the keeper does not know are not loaded at a start.
            self.parts[table] = {it: at for it, at in parts.items() if it in self.keeper.holders}
        if not self.lacks_tables:
            for table in self.keeper.tables.values():
                self.begin(self._follow(table))
        self._open_session()

    def rebuild(self) -> bool:
        """Starts on a new disk, with its database and without tables; returns False if the other
        replicas have not all of its rows."""
        if not self.keeper.can_lose(self.name):
            return False
        self.kill()
        self.lacks_tables = True
        self.keeper.lose(self.name)
        for name in self.keeper.tables:
            self.parts[name], self.pointers[name], self.queues[name] = {}, 0, []
        self.start()
        return True

    def create_tables(self) -> None:
        """Creates the tables, as an operator does; they get their rows from the others."""
        if self.lacks_tables:
            self.lacks_tables = False
            if self.is_up:
                for table in self.keeper.tables.values():
                    self.begin(self._follow(table))

    @property
    def tables(self) -> list[KeptTable]:
        """Tables that it has."""
        return [] if self.lacks_tables else list(self.keeper.tables.values())

    def kill(self) -> None:
        self.is_up = self.has_session = False
        self.is_stopped = False
        self._resumed.set()
        for task in list(self._tasks):
            task.cancel()
        self._tasks.clear()
        for line in list(self.lines):
            line.cut(EOFError("Unexpected EOF while reading bytes"))
        self._expire_soon()

    def stop(self) -> None:
        """Stops the process, as SIGSTOP does."""
        self.is_stopped = True
        self._resumed.clear()
        self._expire_soon()

    def resume(self) -> None:
        self.is_stopped = False
        self._resumed.set()
        if self.is_up and not self.has_session:
            self._open_session()

    def lose_session(self) -> None:
        """Lets the session with the keeper expire; the tables are read-only until the next one."""
        self.has_session = False
        self.keeper.sessions.discard(self.name)
        self.keeper.wake()

    def open_session(self) -> None:
        if self.is_up and not self.is_stopped:
            self.has_session = True
            self.keeper.sessions.add(self.name)
            self.keeper.wake()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs work of this life in the background."""
        task = self.loop.create_task(self._done(work), context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _done(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self.loop.fail(error)

    def _open_session(self) -> None:
        seconds = self.dice.uniform(0.05, 1.0)
        self.loop.call_later(seconds, self.open_session, context=Context())

    def _expire_soon(self) -> None:
        life = self.life

        def expire() -> None:
            if self.life == life and (self.is_stopped or not self.is_up):
                self.lose_session()

        self.loop.call_later(SESSION_SECONDS, expire, context=Context())

    async def step(self, shortest: float = 0.0002, longest: float = 0.003) -> None:
        """Lets the time of some work pass; longer while the process is stopped."""
        await asyncio.sleep(self.dice.uniform(shortest, longest) * self.slowness)
        await self._resumed.wait()

    def check_table(self, name: str) -> None:
        """Raises ServerException for a table that it lacks."""
        if self.lacks_tables:
            raise ServerException(f"Table air.{name} doesn't exist.", UNKNOWN_TABLE)

    # -- questions

    async def select(
        self,
        line: Line,
        query: str,
        parameters: Mapping[str, Any],
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        await self.step()
        try:
            line.answer(self.answered(query, parameters, settings))
        except ServerException as error:
            line.answer(error)

    def answered(
        self, query: str, parameters: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Returns the answer to a query. Raises ServerException."""
        return answered(self, query, parameters)

    async def hello(self, line: Line) -> None:
        await self.step(0.0, 0.0005)
        line.answer("hello")

    # -- inserts

    async def insert(self, line: Line, asked: AskedInsert) -> None:
        await self.step()
        if asked.query_id in self.running:
            line.answer(ServerException(f"Query with id = {asked.query_id} is running", 216))
            return
        life = self.life
        self.running.append(asked.query_id)
        try:
            answer: Any = await self._insert(line, asked)
        except ServerException as error:
            answer = error
        except (TimeoutError, EOFError):
            answer = None
        finally:
            if self.life == life:
                self.running.remove(asked.query_id)
        await self.step()
        if answer is None:
            line.cut(EOFError("Unexpected EOF while reading bytes"))
        else:
            line.answer(answer)

    async def _insert(self, line: Line, asked: AskedInsert) -> str:
        self.check_table(asked.table)
        table = self.keeper.tables[asked.table]
        if table.refusal is not None:
            raise ServerException(table.refusal[1], table.refusal[0])
        types = {column.name: column.type for column in table.columns}
        line.answer(Sample([(name, types[name]) for name in asked.columns]))
        data = b""
        async with asyncio.timeout(asked.settings[RECEIVE_TIMEOUT]):
            while (received := await line.data.get()) != END:
                if received is None:
                    raise EOFError
                data += received
        await self.step()
        if not data:
            return "end of stream"
        if table.is_full:
            raise ServerException("Too many parts (300). Merges are slower than inserts", 252)
        block_id = asked.settings.get(TOKEN) or hashlib.sha256(data).hexdigest()
        timeout_ms = asked.settings.get("insert_quorum_timeout", 0)
        for part in self.parts_of(asked.table, block_id, data):
            await self._commit(table, part, int(asked.settings.get("insert_quorum", 0)))
            await self._await_quorum(table, part, timeout_ms / 1000)
        return "end of stream"

    def parts_of(self, table: str, block_id: str, data: bytes) -> list[Part]:
        """Returns the parts that an insert makes, in the order in which they are committed.

        Args:
            block_id: token or hash of the whole block.
        """
        return [Part(self.keeper.new_name(), block_id, rows_of(table, data))]

    async def _commit(self, table: KeptTable, part: Part, quorum: int) -> None:
        await self._ask_keeper()
        if quorum > 1:
            if len(self.keeper.sessions) < quorum:
                raise ServerException(f"Number of alive replicas is less than {quorum}", 285)
            if table.quorum is not None:
                raise ServerException("Quorum for previous write has not been satisfied yet", 286)
        await self._ask_keeper()
        if part.block_id in table.blocks:
            return  # acknowledged as it is, also while the first insert waits for its quorum
        await self._ask_keeper(242)
        if part.block_id in table.blocks:
            return
        if quorum > 1 and table.quorum is not None:
            raise ServerException("Another quorum insert has been already started", 286)
        is_lost = self.loses_answers
        is_made = not is_lost or self.dice.random() < 0.5
        self.parts[table.name][part] = self.loop.time()
        if is_made:
            self.keeper.commit(table, part, self.name, quorum, self.loop.time())
        else:
            seconds = self.dice.uniform(*GHOST_SECONDS)
            self.loop.call_later(seconds, self.parts[table.name].pop, part, None, context=Context())
        if is_lost:
            raise ServerException("Unknown status, client must retry", 319)

    async def _await_quorum(self, table: KeptTable, part: Part, seconds: float) -> None:
        changed = asyncio.Event()
        self.keeper.woken.append(changed.set)
        try:
            async with asyncio.timeout(seconds or None):
                while table.quorum is not None and table.quorum.part is part:
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise ServerException("Timeout while waiting for quorum", 319) from None
        finally:
            self.keeper.woken.remove(changed.set)
        await self.step()

    async def _ask_keeper(self, code: int = 999) -> None:
        await self.step()
        if not self.has_session:
            raise ServerException("Session with ZooKeeper expired", code)

    # -- replication

    async def _follow(self, table: KeptTable) -> None:
        """Copies the log of a table into the queue, and fetches the parts that are in the queue."""
        changed = asyncio.Event()
        self.keeper.woken.append(changed.set)
        try:
            while True:
                changed.clear()
                await self.step(0.001, 0.03)
                if self.has_session:
                    self._pull(table)
                    for part in list(self.queues[table.name]):
                        await self._fetch(table, part)
                if not self.has_session or not self._is_behind(table):
                    await changed.wait()
                elif not changed.is_set():
                    await asyncio.sleep(0.5)
        finally:
            self.keeper.woken.remove(changed.set)

    def _is_behind(self, table: KeptTable) -> bool:
        return bool(self.queues[table.name]) or self.pointers[table.name] < len(table.log)

    def _pull(self, table: KeptTable) -> None:
        for part in table.log[self.pointers[table.name] :]:
            if part not in self.parts[table.name]:
                self.queues[table.name].append(part)
        self.pointers[table.name] = len(table.log)

    async def _fetch(self, table: KeptTable, part: Part) -> None:
        is_there = self.keeper.is_served(part)
        await self.step(0.001, 0.02)
        if is_there and self.has_session:
            self.queues[table.name].remove(part)
            self.parts[table.name][part] = self.loop.time()
            self.keeper.has(table, part, self.name)
