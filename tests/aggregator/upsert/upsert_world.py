"""A world for upsert tables: logs, a ledger, a store of three servers, coordinators and settlers.

All decisions are the product's. Coordinators and settlers are generators that stop before each
effect, so that whoever plays the world can let any of them go on, kill it, or leave it behind as a
zombie. Servers get what is inserted in any order, and settle at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from aggregator.upsert import fold as folding
from aggregator.upsert import recovery as recovering
from aggregator.upsert import visibility
from aggregator.upsert.fold import Folded, KeyState
from aggregator.upsert.mark import Level, server_mark
from aggregator.upsert.recovery import Found, Recovery, StateAction, TickAction, TickName
from aggregator.upsert.tick import OPEN, Lane, Tick, tick_of
from aggregator.upsert.tick_codec import decode, encode
from aggregator.upsert.tick_cut import Cut, CutSettings, LaneLog, cut, tick_zero
from aggregator.upsert.version import Version
from aggregator.upsert.visibility import ReplicaCount, SettlePoint
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

GENERATION = 1
SERVERS = ("a", "b", "c")
QUORUM = 2
CLUSTERS = ("west", "east")
SETTINGS = CutSettings(records_max=6, block_rows=4)
HISTORY_SECONDS = 6.0
DAYS = 3
ID = "sluice.upsert.feed.table"

Steps = Generator[None, int, None]
"""Work that stops before each effect. It is sent a number that chooses among servers."""
States = dict[bytes, KeyState]


class Fenced(Exception):
    """A newer coordinator opened the id."""


class Record(NamedTuple):
    """Record of a log."""

    key: int
    order: int
    is_delete: bool


class Place(NamedTuple):
    """Record by lane and offset; shown rows are compared by it."""

    key: int
    lane: int
    offset: int


@dataclass
class StoredRow:
    """Row on one server."""

    key: bytes
    version: Version
    until: int


@dataclass(frozen=True)
class Entry:
    """Insert: a part of a block of rows, a block of ends, or a row of the table of ticks."""

    kind: str
    tick: int
    content: tuple[Any, ...] = ()
    lanes: frozenset[int] = frozenset()


class Server:
    """Server of the store: what it has got so far."""

    def __init__(self) -> None:
        self.has: set[Entry] = set()
        self.rows: list[StoredRow] = []
        self.ends: dict[int, set[int]] = {}

    def apply(self, entry: Entry) -> None:
        if entry in self.has:
            return
        self.has.add(entry)
        if entry.kind == "rows":
            for key, version in entry.content:
                until = tick_of(version.row_id) if version.is_delete else OPEN
                self.rows.append(StoredRow(key, version, until))
        elif entry.kind == "ends":
            self.ends.setdefault(entry.tick, set()).update(each.row_id for each in entry.content)

    def ended(self, begin: int, end: int, is_behind: Callable[[int, int, int], bool]) -> set[int]:
        """Returns the rows with ends behind a tick, up to another one."""
        return {
            row_id
            for tick, rows in self.ends.items()
            if is_behind(tick, begin, end)
            for row_id in rows
        }


class Rules:
    """The decisions as they are. A mutation leaves one of them out."""

    rows_behind_the_intent = True
    order: tuple[str, ...] = ("rows", "ends", "claim")

    def cut(self, before: Tick, logs: Mapping[Lane, LaneLog], world: World) -> Cut:
        return cut(before, logs, world.answering, world.clock_ms, SETTINGS)

    def redone(self, intent: Tick, world: World) -> Tick:
        return intent

    def fold(self, tick: int, rows: Iterable[tuple[bytes, Version]], states: States) -> Folded:
        return folding.fold(tick, rows, states)

    def facts(self, rows: Sequence[StoredRow], is_visible: Callable[[StoredRow], bool]) -> Any:
        return [
            (each.key, each.version) for each in rows if each.version.is_delete or is_visible(each)
        ]

    def recovery(self, found: Found) -> Recovery:
        return recovering.recovery(found)

    def is_fenced(self, epoch: int, newest: int) -> bool:
        return epoch != newest

    def is_block_done(self, found: int, expected: int) -> bool:
        return found == expected

    def is_visible(self, row_id: int, until: int, mark: int, ended: set[int]) -> bool:
        return visibility.is_visible(row_id, until, mark, ended)

    def is_behind(self, tick: int, settled: int, mark: int) -> bool:
        return visibility.is_behind(tick, settled, mark)

    def settled_at(self, mark: int, points: Iterable[int]) -> int:
        return visibility.settled_at(mark, points)

    def is_settled_by(self, until: int, point: int) -> bool:
        """Returns True for a row that a mutation changes: WHERE _until > point."""
        return until > point

    def settled_until(self, until: int, point: int) -> int:
        return visibility.settled_until(until, point)

    def may_publish(self, point: int, counts: Mapping[str, ReplicaCount]) -> bool:
        return visibility.may_publish(point, SERVERS, counts)

    def last_dropped(self, horizon: int, newest_point: int) -> int:
        """Returns the last tick whose ends are dropped, in partitions of a tick."""
        return horizon

    def server_mark(self, levels: Mapping[int, Level]) -> int:
        return server_mark(levels)


@dataclass
class World:
    """All of a table, with what happened to it.

    Args:
        ticks: as they were committed, by number: the oracle's.
    """

    rules: Rules = field(default_factory=Rules)
    clock_ms: int = 0
    logs: dict[Lane, list[Record | None]] = field(default_factory=dict)
    answering: set[str] = field(default_factory=lambda: set(CLUSTERS))
    epoch: int = 0
    parts: dict[int, OffsetAndMetadata] = field(default_factory=dict)
    ticks: dict[int, Tick] = field(default_factory=dict)
    log: list[Entry] = field(default_factory=list)
    servers: dict[str, Server] = field(default_factory=lambda: {it: Server() for it in SERVERS})
    checkpoint: tuple[TickName, States] | None = None
    checkpoints: list[tuple[TickName, States]] = field(default_factory=list)
    coordinator: Steps | None = None
    zombies: list[Steps] = field(default_factory=list)
    settlers: list[Steps] = field(default_factory=list)

    def __post_init__(self) -> None:
        for cluster, partitions in (("west", 2), ("east", 1)):
            for _ in range(partitions):
                self.grow(cluster)

    # -- actions, each with numbers that choose

    def produce(self, lane: int, key: int, order: int, kind: int) -> None:
        """Appends a record to any partition; some are deletes, and some offsets have no record."""
        name = list(self.logs)[lane % len(self.logs)]
        record = Record(key % 4, order % 5, kind % 4 == 0)
        self.logs[name].append(None if kind % 11 == 5 else record)

    def grow(self, cluster: str) -> None:
        """Adds a partition."""
        number = sum(each.cluster == cluster for each in self.logs)
        self.logs[Lane(cluster, "orders", UUID(int=1), number)] = []

    def add_partition(self, which: int) -> None:
        if len(self.logs) < 5:
            self.grow(CLUSTERS[which % 2])

    def leave_or_return(self, which: int) -> None:
        """A cluster goes away, or is there again."""
        self.answering ^= {CLUSTERS[which % 2]}

    def coordinate(self, steps: int, pick: int) -> None:
        """Lets the coordinator go on for some steps, or starts one."""
        self.clock_ms += 1000
        if self.coordinator is None:
            self.coordinator = begun(coordinator(self))
        for step in range(1 + steps % 16):
            if not goes_on(self.coordinator, pick + step):
                self.coordinator = None
                return

    def kill(self, steps: int, pick: int) -> None:
        """Kills the coordinator, after it went on for some steps."""
        self.coordinate(steps, pick)
        self.coordinator = None

    def depose(self) -> None:
        """Leaves the coordinator behind as a zombie."""
        if self.coordinator is not None:
            self.zombies = [*self.zombies[-1:], self.coordinator]
            self.coordinator = None

    def let_zombie(self, which: int, pick: int) -> None:
        if self.zombies:
            zombie = self.zombies[which % len(self.zombies)]
            if not goes_on(zombie, pick):
                self.zombies.remove(zombie)

    def settle(self, which: int, steps: int, pick: int) -> None:
        """Lets a settler go on, or starts one."""
        if not self.settlers or which % 16 == 0:
            self.settlers = [*self.settlers[-1:], begun(settler(self))]
        found = self.settlers[which % len(self.settlers)]
        for _ in range(1 + steps % 16):
            if not goes_on(found, pick):
                self.settlers.remove(found)
                return

    def stop_settling(self, which: int) -> None:
        if self.settlers:
            self.settlers.pop(which % len(self.settlers))

    def replicate(self, server: int, count: int, which: int) -> None:
        """Brings a server some of the inserts that it does not have, in any order."""
        found = self.servers[SERVERS[server % len(SERVERS)]]
        for _ in range(1 + count % 8):
            lacking = [each for each in self.log if each not in found.has]
            if lacking:
                found.apply(lacking[which % len(lacking)])

    def change_checkpoint(self, how: int) -> None:
        """Deletes the checkpoint, or replaces it by an older or an alien one, and restarts."""
        self.coordinator = None
        if how % 3 == 0:
            self.checkpoint = None
        elif how % 3 == 1 and self.checkpoints:
            self.checkpoint = self.checkpoints[how // 3 % len(self.checkpoints)]
        elif self.checkpoints:
            self.checkpoint = (TickName(GENERATION + 1, self.claimed), {})

    def raise_horizon(self) -> None:
        """Publishes the horizon that the history allows."""
        claimed = self.claimed
        if claimed:
            points = [SettlePoint(each, self.ticks[each].time_ms) for each in self.points]
            now_ms = self.ticks[claimed].time_ms
            found = visibility.next_horizon(points, now_ms, HISTORY_SECONDS, before=self.horizon)
            if found > self.horizon:
                for name in SERVERS:
                    self.put(Entry("horizon", found), name)

    def drop(self, server: int) -> None:
        """Drops the ends that no query needs, on one server."""
        found = self.servers[SERVERS[server % len(SERVERS)]]
        last = self.rules.last_dropped(self.horizon, max(self.points, default=0))
        found.ends = {tick: rows for tick, rows in found.ends.items() if tick > last}

    # -- the ledger

    def open(self) -> int:
        self.epoch += 1
        return self.epoch

    def intent(self) -> Tick | None:
        return decode(self.parts) if self.parts else None

    def commit(self, epoch: int, tick: Tick) -> None:
        if self.rules.is_fenced(epoch, self.epoch):
            raise Fenced
        self.parts = dict(enumerate(encode(tick, ID)))
        known = self.ticks.setdefault(tick.number, tick)
        assert known == tick, f"tick {tick.number} was committed with other ranges"

    # -- the store

    def put(self, entry: Entry, server: str) -> None:
        if entry not in self.log:
            self.log.append(entry)
        self.servers[server].apply(entry)

    def has_quorum(self, entry: Entry) -> bool:
        return sum(entry in each.has for each in self.servers.values()) >= QUORUM

    def acknowledged(self, kind: str) -> list[Entry]:
        return [each for each in self.log if each.kind == kind and self.has_quorum(each)]

    @property
    def claimed(self) -> int:
        return max((each.tick for each in self.acknowledged("claim")), default=0)

    @property
    def points(self) -> list[int]:
        return [each.tick for each in self.acknowledged("settled")]

    @property
    def horizon(self) -> int:
        return max((each.tick for each in self.acknowledged("horizon")), default=0)

    @property
    def newest_stored(self) -> int:
        return max((each.tick for each in self.log if each.kind in ("rows", "ends")), default=0)

    def stored_rows(self, ids: range) -> int:
        """Counts the rows of a block that a read with sequential consistency shows."""
        entries = self.acknowledged("rows")
        return sum(version.row_id in ids for each in entries for _, version in each.content)

    def mark_of(self, server: str) -> int:
        """Returns the newest tick that a server can show: a claim before which it lacks nothing."""
        has = self.servers[server].has
        claims = [(at, it.tick) for at, it in enumerate(self.log) if it.kind == "claim"]
        claims = [(at, tick) for at, tick in claims if self.has_quorum(self.log[at])]
        lacking = [(at, each) for at, each in enumerate(self.log) if each not in has]

        def level(is_of: Callable[[Entry], bool]) -> int:
            first = min((at for at, each in lacking if is_of(each)), default=len(self.log))
            return max((tick for at, tick in claims if at < first), default=0)

        updates = level(lambda it: it.kind == "ends")
        levels = {
            lane: Level(
                level(lambda it, lane=lane: it.kind == "rows" and lane in it.lanes), updates
            )
            for lane in range(len(self.logs))
        }
        return self.rules.server_mark(levels)

    # -- queries and brute force

    def rows_seen(self, server: str, mark: int) -> list[StoredRow]:
        """Returns the rows that a query at a mark sees on a server."""
        found, rules = self.servers[server], self.rules
        settled = rules.settled_at(mark, self.points)
        ended = found.ended(settled, mark, rules.is_behind)
        return [
            each
            for each in found.rows
            if rules.is_visible(each.version.row_id, each.until, mark, ended)
        ]

    def shown(self, server: str, mark: int) -> list[Place]:
        return sorted(
            Place(each.key[0], each.version.lane, each.version.offset)
            for each in self.rows_seen(server, mark)
        )

    def newest(self, ends: Sequence[int], lanes: Sequence[Lane]) -> list[Place]:
        """Returns, by brute force over the logs, the newest row of each key below offsets."""
        best: dict[int, tuple[int, int, int, bool]] = {}
        for lane, (name, end) in enumerate(zip(lanes, ends, strict=True)):
            for offset, record in enumerate(self.logs[name][:end]):
                if record is not None:
                    found = (record.order, lane, offset, record.is_delete)
                    best[record.key] = max(best.get(record.key, found), found)
        return sorted(
            Place(key, lane, offset)
            for key, (_, lane, offset, is_delete) in best.items()
            if not is_delete
        )

    def check(self) -> None:
        """Compares what every server shows at every permitted mark with brute force."""
        horizon = self.horizon
        for server in SERVERS:
            for mark in range(horizon, self.mark_of(server) + 1):
                tick = self.ticks.get(mark)
                expected = self.newest(tick.ends, tick.lanes) if tick else []
                shown = self.shown(server, mark)
                assert shown == expected, (
                    f"server {server} at tick {mark} shows {shown}, brute force {expected}; "
                    f"settle points {self.points}, horizon {horizon}"
                )

    def rest(self) -> None:
        """Lets all of it come to rest, and compares with brute force over the whole logs."""
        self.answering = set(CLUSTERS)
        self.coordinator, self.zombies, self.settlers = None, [], []
        for _ in range(2000):
            self.coordinate(0, 0)
            for server in self.servers.values():
                for entry in self.log:
                    server.apply(entry)
            intent = self.intent()
            taken = dict(zip(intent.lanes, intent.ends, strict=True)) if intent else {}
            if (intent.number if intent else 0) == self.claimed and all(
                taken.get(lane, 0) == len(log) for lane, log in self.logs.items()
            ):
                break
        else:
            raise AssertionError("the coordinator does not come to rest")
        self.check()
        lanes = [lane for lane in self.logs if lane in taken]
        lanes.sort(key=list(taken).index)
        for server in SERVERS:
            assert self.mark_of(server) == self.claimed
            expected = self.newest([taken[lane] for lane in lanes], lanes)
            assert self.shown(server, self.claimed) == expected


# -- coordinators and settlers


def begun(steps: Steps) -> Steps:
    next(steps)
    return steps


def goes_on(steps: Steps, pick: int) -> bool:
    """Lets work go on to its next effect; returns False if it has ended."""
    try:
        steps.send(pick)
    except StopIteration:
        return False
    return True


def coordinator(world: World) -> Steps:
    """Coordinates a table from its start on, until it is fenced."""
    epoch = world.open()
    yield
    try:
        yield from _coordinated(world, epoch)
    except Fenced:
        return


def _coordinated(world: World, epoch: int) -> Steps:
    rules = world.rules
    intent = world.intent()
    plan = rules.recovery(
        Found(
            ledger=TickName(intent.generation, intent.number) if intent else None,
            claimed=TickName(GENERATION, world.claimed),
            checkpoint=world.checkpoint[0] if world.checkpoint else None,
            stored=world.newest_stored,
            is_fenced=epoch != world.epoch,
        )
    )
    assert plan.action is not TickAction.STOP, plan.reason
    if plan.action is TickAction.FOLLOW:
        return
    states: States = {}
    if plan.state is StateAction.BOOTSTRAP:
        states = yield from _bootstrapped(world)
    elif world.checkpoint:
        states = dict(world.checkpoint[1])
        if plan.state is StateAction.FOLD_AGAIN and intent:
            states |= rules.fold(intent.number, records_of(world, intent), states).states
    before = intent or tick_zero(GENERATION)
    redo = rules.redone(before, world) if plan.action is TickAction.REDO else None
    while True:
        if redo is None:
            logs = {
                lane: LaneLog(0, len(log))
                for lane, log in world.logs.items()
                if lane.cluster in world.answering
            }
            tick = rules.cut(before, logs, world).tick
            if tick is None:
                yield
                continue
            if not rules.rows_behind_the_intent:
                yield from _rows(world, tick)
            world.commit(epoch, tick)
            yield
        else:
            tick, redo = redo, None
        states = yield from _done(world, tick, states)
        before = tick


def _bootstrapped(world: World) -> Generator[None, int, States]:
    mark = world.claimed
    while not (able := [it for it in SERVERS if world.mark_of(it) >= mark]):
        yield
    pick = yield
    server = able[pick % len(able)]
    seen = {id(each) for each in world.rows_seen(server, mark)}
    rows = [it for it in world.servers[server].rows if tick_of(it.version.row_id) <= mark]
    states = folding.bootstrapped(world.rules.facts(rows, lambda each: id(each) in seen))
    save(world, mark, states)
    return states


def _done(world: World, tick: Tick, states: States) -> Generator[None, int, States]:
    """Does a tick that the ledger has: rows, ends, claim, and Spark's commit."""
    folded = world.rules.fold(tick.number, records_of(world, tick), states)
    for step in world.rules.order:
        if step == "rows":
            yield from _rows(world, tick)
        elif step == "ends":
            yield from _insert(world, Entry("ends", tick.number, tuple(folded.ends)))
        else:
            yield from _insert(world, Entry("claim", tick.number))
    after = states | folded.states
    yield
    save(world, tick.number, after)
    yield
    return after


def _rows(world: World, tick: Tick) -> Steps:
    """Inserts the blocks of a tick; each becomes several parts, if its rows are of several days."""
    rows = records_of(world, tick)
    for block in range(tick.blocks):
        ids = tick.block_row_ids(block)
        mine = [each for each in rows if each[1].row_id in ids]
        if world.rules.is_block_done(world.stored_rows(ids), len(mine)):
            continue
        for day in range(DAYS):
            part = tuple(each for each in mine if each[1].order % DAYS == day)
            lanes = frozenset(version.lane for _, version in part)
            if part:
                yield from _insert(world, Entry("rows", tick.number, part, lanes))


def _insert(world: World, entry: Entry) -> Steps:
    """Inserts with a quorum: any server, then any other one."""
    pick = yield
    world.put(entry, SERVERS[pick % len(SERVERS)])
    pick += 1 + (yield) % 2
    world.put(entry, SERVERS[pick % len(SERVERS)])


def save(world: World, number: int, states: States) -> None:
    """Saves a checkpoint, but over a newer one of this table."""
    made = (TickName(GENERATION, number), dict(states))
    world.checkpoints.append(made)
    newest = world.checkpoint
    if newest is None or newest[0].generation != GENERATION or newest[0].number < number:
        world.checkpoint = made


def records_of(world: World, tick: Tick) -> list[tuple[bytes, Version]]:
    """Returns the rows of a tick's records, with their keys."""
    found = []
    for lane, (name, (begin, end)) in enumerate(zip(tick.lanes, tick.ranges, strict=True)):
        for offset in range(begin, end):
            record = world.logs[name][offset]
            if record is not None:
                row_id = tick.row_id(lane, offset)
                version = Version(record.order, lane, offset, 0, row_id, record.is_delete)
                found.append((bytes([record.key]) * 16, version))
    return found


def settler(world: World) -> Steps:
    """Settles up to the newest claimed tick, and publishes it."""
    rules = world.rules
    former, point = max(world.points, default=0), world.claimed
    yield
    if point <= former:
        return
    counts: dict[str, ReplicaCount] = {}
    first = True
    while first or not rules.may_publish(point, counts):
        first = False
        pick = yield
        order = SERVERS[pick % len(SERVERS) :] + SERVERS[: pick % len(SERVERS)]
        for name in order:
            _mutate(world, name, former, point)
            yield
        counts = {}
        for name in order:
            server = world.servers[name]
            ended = server.ended(former, point, visibility.is_behind)
            still = [it for it in server.rows if it.until > point and it.version.row_id in ended]
            counts[name] = ReplicaCount(world.mark_of(name), len(still))
            yield
    yield from _insert(world, Entry("settled", point))


def _mutate(world: World, name: str, former: int, point: int) -> None:
    """Runs the mutation on a server, which looks for the ended rows itself."""
    server, rules = world.servers[name], world.rules
    ended = server.ended(former, point, visibility.is_behind)
    for each in server.rows:
        if each.version.row_id in ended and rules.is_settled_by(each.until, point):
            each.until = rules.settled_until(each.until, point)
