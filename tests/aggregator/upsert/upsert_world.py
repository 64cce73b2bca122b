"""A world for upsert tables: logs, a ledger, a store of three servers, coordinators and settlers.

All decisions are the product's. Coordinators and settlers are generators that stop before each
effect, so that whoever plays the world can let any of them go on, kill it, or leave it behind as a
zombie. Servers get what is inserted in any order, and settle at any time.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from aggregator.upsert import fold as folding
from aggregator.upsert import visibility
from aggregator.upsert.fold import Folded
from aggregator.upsert.recovery import Found, StateAction, TickAction, TickName
from aggregator.upsert.tick import Lane, Tick, tick_of
from aggregator.upsert.tick_codec import decode, encode
from aggregator.upsert.tick_cut import LaneLog, tick_zero
from aggregator.upsert.version import RowEnd, Version
from aggregator.upsert.visibility import SettlePoint, oldest_readable
from replicator.kafka.client.loss import Loss
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.aggregator.upsert.upsert_rules import RETENTION_HOURS, Rules, States
from tests.aggregator.upsert.upsert_settler import Steps, insert, settler
from tests.aggregator.upsert.upsert_store import SERVERS, Entry, Store, StoredRow

GENERATION = 1
CLUSTERS = ("west", "east")
STEP_MS = 2 * 3_600_000
"""Ages of records are multiples of it."""
DAY_SECONDS = 4 * 3600
"""Length of the days by which blocks become parts."""
LATENESS = (0, 1, 2, 4, 5, 7, 9, 11, 13, 16)
"""Steps by which records are behind the clock."""
HISTORY_SECONDS = 10 * 3600.0
LANES_MAX = 7
ID = "sluice.upsert.feed.table"


class Fenced(Exception):
    """A newer coordinator opened the id."""


class Record(NamedTuple):
    """Record of a log, with one row or two, of keys next to each other.

    Args:
        order: event time, in Unix seconds.
    """

    key: int
    order: int
    is_delete: bool
    rows: int


class Place(NamedTuple):
    """Row by its coordinates, by which shown rows are compared."""

    key: int
    lane: int
    offset: int
    row: int


@dataclass
class Log:
    """Log of a partition.

    Args:
        start: first offset that retention has left.
        is_gone: its topic was deleted.
    """

    records: list[Record | None] = field(default_factory=list)
    start: int = 0
    is_gone: bool = False


@dataclass
class World:
    """All of a table, with what happened to it.

    Args:
        step_ms: time for which a coordinator goes on at once.
        accepted: losses that an operator accepted, by lane.
        ticks: as they were committed, by number: the oracle's.
        ends: of each tick that was folded: the same whenever it is done again.
    """

    rules: Rules = field(default_factory=Rules)
    clock_ms: int = 100 * 86_400_000
    step_ms: int = STEP_MS
    logs: dict[Lane, Log] = field(default_factory=dict)
    answering: set[str] = field(default_factory=lambda: set(CLUSTERS))
    accepted: dict[int, Loss] = field(default_factory=dict)
    epoch: int = 0
    parts: dict[int, OffsetAndMetadata] = field(default_factory=dict)
    ticks: dict[int, Tick] = field(default_factory=dict)
    store: Store = field(default_factory=Store)
    checkpoint: tuple[TickName, States] | None = None
    checkpoints: list[tuple[TickName, States]] = field(default_factory=list)
    coordinator: Steps | None = None
    zombies: list[Steps] = field(default_factory=list)
    settlers: list[Steps] = field(default_factory=list)
    ends: dict[int, Sequence[RowEnd]] = field(default_factory=dict)
    away: str = ""
    """Server that gets nothing, and settles nothing."""

    def __post_init__(self) -> None:
        self.add_partition(0)
        self.add_partition(0)
        self.add_partition(1)

    # -- logs; each action takes numbers that choose

    def produce(self, lane: int, key: int, order: int, kind: int) -> None:
        """Appends a record to any partition; some are deletes, and some offsets have no record."""
        logs = [each for each in self.logs.values() if not each.is_gone]
        time_s = (self.clock_ms - LATENESS[order % len(LATENESS)] * STEP_MS) // 1000
        record = Record(key % 3, time_s, kind % 3 == 0, 1 + (kind % 5 == 0))
        logs[lane % len(logs)].records.append(None if kind % 11 == 5 else record)

    def add_partition(self, which: int) -> None:
        """Adds a partition to the topic of a cluster."""
        cluster = CLUSTERS[which % 2]
        lanes = [lane for lane, log in self.logs.items() if lane.cluster == cluster]
        here = [lane for lane in lanes if not self.logs[lane].is_gone]
        if len(self.logs) < LANES_MAX:
            topic_id = here[0].topic_id if here else UUID(int=len(lanes) + 1)
            self.logs[Lane(cluster, "orders", topic_id, len(here))] = Log()

    def recreate(self, which: int) -> None:
        """Deletes the topic of a cluster, and creates it anew with one partition."""
        if len(self.logs) < LANES_MAX:
            for lane, log in self.logs.items():
                log.is_gone |= lane.cluster == CLUSTERS[which % 2]
            self.add_partition(which)

    def expire(self, lane: int, count: int) -> None:
        """Lets retention delete the first records of a log."""
        log = list(self.logs.values())[lane % len(self.logs)]
        log.start = min(log.start + 1 + count % 4, len(log.records))

    def accept_losses(self) -> None:
        """Accepts the losses that the newest tick names."""
        intent = self.intent()
        if intent:
            self.accepted |= {each.lane: each.loss for each in intent.stops}

    def leave_or_return(self, which: int) -> None:
        """A cluster goes away, or is there again."""
        self.answering ^= {CLUSTERS[which % 2]}

    # -- coordinators, settlers, servers

    def coordinate(self, steps: int, pick: int) -> None:
        """Lets the coordinator go on for some steps, or starts one."""
        self.clock_ms += self.step_ms
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
        name = SERVERS[server % len(SERVERS)]
        for _ in range(0 if name == self.away else 1 + count % 8):
            if lacking := self.store.lacking(name):
                self.store.bring(lacking[which % len(lacking)], name, which)

    def send_away(self, server: int) -> None:
        """A server goes away, or is there again."""
        self.away = "" if self.away else SERVERS[server % len(SERVERS)]

    def present(self, pick: int) -> list[str]:
        """Returns the servers that answer, in an order that a number chooses."""
        order = SERVERS[pick % len(SERVERS) :] + SERVERS[: pick % len(SERVERS)]
        return [each for each in order if each != self.away]

    def replace_server(self, server: int) -> None:
        """Replaces a server, while another one has all ends."""
        name = SERVERS[server % len(SERVERS)]
        if any(self.settled(it) >= self.store.horizon for it in SERVERS if it != name):
            self.store.replace(name)

    def change_checkpoint(self, how: int) -> None:
        """Deletes the checkpoint, or replaces it by an older or an alien one, and restarts."""
        self.coordinator = None
        if how % 3 == 0:
            self.checkpoint = None
        elif how % 3 == 1 and self.checkpoints:
            self.checkpoint = self.checkpoints[how // 3 % len(self.checkpoints)]
        elif self.checkpoints:
            self.checkpoint = (TickName(GENERATION + 1, self.store.claimed), {})

    def next_horizon(self) -> int:
        """Returns the horizon that the history allows."""
        store = self.store
        if not store.claimed:
            return 0
        points = [SettlePoint(each, self.ticks[each].time_ms) for each in store.points]
        now_ms = self.ticks[store.claimed].time_ms
        return oldest_readable(points, now_ms, HISTORY_SECONDS, before=store.horizon)

    def raise_horizon(self) -> None:
        """Publishes the horizon that the history allows."""
        found = self.next_horizon()
        if found > self.store.horizon:
            for name in SERVERS:
                self.store.put(Entry("horizon", found), name)

    def drop(self, server: int) -> None:
        """Drops the ends before the horizon, on one server."""
        store = self.store
        last = self.rules.last_dropped(store.horizon, self.next_horizon(), store.points)
        store.drop(SERVERS[server % len(SERVERS)], last)

    def follow(self, server: int, which: int) -> None:
        """Has the parts of a server become those of another one, as far as it has their rows."""
        name = SERVERS[server % len(SERVERS)]
        others = [each for each in self.present(0) if each != name and self.settled(each) > 0]
        if others and name != self.away:
            source = self.store.servers[others[which % len(others)]]
            until = {each.version.row_id: each.until for each in source.rows}
            for each in self.store.servers[name].rows:
                each.until = min(each.until, until.get(each.version.row_id, each.until))

    def settled(self, server: str) -> int:
        """Returns the newest settle point that a server has."""
        return max(self.store.points_of(server, self.rules), default=0)

    def drop_days(self, server: int) -> None:
        """Drops the days that no permitted mark shows, on one server."""
        store = self.store
        found = store.servers[SERVERS[server % len(SERVERS)]]
        horizon_ms, newest_ms = self.time_of(store.horizon), self.time_of(store.claimed)
        days = {visibility.day_of(each.version.order) for each in found.rows}
        expired = self.rules.expired_days(days, horizon_ms, newest_ms)
        found.rows = [
            each for each in found.rows if visibility.day_of(each.version.order) not in expired
        ]

    # -- the ledger

    def intent(self) -> Tick | None:
        return decode(self.parts) if self.parts else None

    def commit(self, epoch: int, tick: Tick) -> None:
        if self.rules.is_fenced(epoch, self.epoch):
            raise Fenced
        before = self.ticks.get(tick.number - 1) or tick_zero(GENERATION)
        assert tick.lanes[: len(before.lanes)] == before.lanes, "lanes keep their numbers"
        for lane, end in enumerate(before.ends):
            begin, loss = tick.ranges[lane].begin, self.accepted.get(lane)
            is_told = loss is not None and (loss.begin, loss.end) == (end, begin)
            assert begin == end or is_told, f"lane {lane} goes on at {begin} behind {end}"
        self.parts = dict(enumerate(encode(tick, ID)))
        known = self.ticks.setdefault(tick.number, tick)
        assert known == tick, f"tick {tick.number} was committed with other ranges"

    # -- queries and brute force

    def mark_of(self, server: str) -> int:
        """Returns the newest tick that a server can show."""
        return self.rules.server_mark(self.store.levels(server, len(self.logs)))

    def rows_seen(self, server: str, mark: int) -> list[StoredRow]:
        """Returns the rows that a query at a mark sees on a server."""
        found, rules = self.store.servers[server], self.rules
        settled = rules.settled_at(mark, self.store.points_of(server, rules))
        ended = found.ended(settled, mark, rules.is_behind)
        since_s = rules.shown_since_s(self.time_of(mark), self.clock_ms)
        return [
            each
            for each in found.rows
            if rules.is_visible(each.version.row_id, each.until, mark, ended)
            and rules.is_shown(each.version.order, since_s)
        ]

    def time_of(self, mark: int) -> int:
        return self.ticks[mark].time_ms if mark else 0

    def shown(self, server: str, mark: int) -> list[Place]:
        return sorted(Place(it.key[0], *it.version[1:4]) for it in self.rows_seen(server, mark))

    def newest(self, mark: int) -> list[Place]:
        """Returns, by brute force over what all ticks took, the newest row of each key, of those
        whose day is not over."""
        since_s = visibility.shown_since_s(self.time_of(mark), RETENTION_HOURS)
        best: dict[int, tuple[int, int, int, int, bool]] = {}
        for number in range(1, mark + 1):
            for key, version in records_of(self, self.ticks[number]):
                found = (*version[:4], version.is_delete)
                if version.order >= since_s:
                    best[key[0]] = max(best.get(key[0], found), found)
        return sorted(Place(key, *it[1:4]) for key, it in best.items() if not it[4])

    def check(self) -> None:
        """Compares what every server shows at every permitted mark with brute force."""
        horizon = self.store.horizon
        marks = {server: self.mark_of(server) for server in SERVERS}
        for mark in range(horizon, max(marks.values()) + 1):
            expected = self.newest(mark)
            for server in SERVERS:
                settled = self.rules.settled_at(mark, self.store.points_of(server, self.rules))
                if mark <= marks[server] and self.rules.may_answer(settled, horizon):
                    shown = self.shown(server, mark)
                    assert shown == expected, (
                        f"server {server} at tick {mark} shows {shown}, brute force {expected}; "
                        f"settle points {self.store.points}, horizon {horizon}"
                    )

    def rest(self) -> None:
        """Lets all of it come to rest: each record is taken once, or its loss is named."""
        self.answering, self.away = set(CLUSTERS), ""
        self.coordinator, self.zombies, self.settlers = None, [], []
        for _ in range(200):
            self.coordinate(0, 0)
            self.accept_losses()
            for server in SERVERS:
                self.replicate(server=SERVERS.index(server), count=7, which=0)
            if self._has_all():
                break
        else:
            raise AssertionError("the coordinator does not come to rest")
        assert {self.mark_of(server) for server in SERVERS} == {self.store.claimed}
        self.check()

    def _has_all(self) -> bool:
        intent = self.intent()
        if (intent.number if intent else 0) != self.store.claimed:
            return False
        if any(self.store.lacking(server) for server in SERVERS):
            return False
        taken = dict(zip(intent.lanes, intent.ends, strict=True)) if intent else {}
        return all(
            taken.get(lane) == len(log.records)
            for lane, log in self.logs.items()
            if not log.is_gone
        )


# -- coordinators


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
    world.epoch += 1
    epoch = world.epoch
    yield
    try:
        yield from _coordinated(world, epoch)
    except Fenced:
        return


def _coordinated(world: World, epoch: int) -> Steps:
    rules = world.rules
    if epoch != world.epoch:
        raise Fenced  # by TickStore.read_as_holder
    intent = world.intent()
    plan = rules.recovery(
        Found(
            ledger=TickName(intent.generation, intent.number) if intent else None,
            claimed=TickName(GENERATION, world.store.claimed),
            checkpoint=world.checkpoint[0] if world.checkpoint else None,
            stored=world.store.newest_stored,
        )
    )
    assert plan.action is not TickAction.STOP, plan.reason
    states: States = {}
    if plan.state is StateAction.BOOTSTRAP:
        states = yield from _bootstrapped(world)
    elif world.checkpoint:
        states = dict(world.checkpoint[1])
        if plan.state is StateAction.FOLD_AGAIN and intent:
            states |= _folded(world, intent, states).states
    before = intent or tick_zero(GENERATION)
    redo = None
    if plan.action is TickAction.REDO:
        redo = rules.redone(before, [len(world.logs[lane].records) for lane in before.lanes])
    while True:
        if redo is None:
            logs = {
                lane: LaneLog(log.start, len(log.records))
                for lane, log in world.logs.items()
                if lane.cluster in world.answering and not log.is_gone
            }
            accepted, clock_ms = world.accepted, world.clock_ms
            tick = rules.cut(before, logs, world.answering, clock_ms, accepted).tick
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
    mark = world.store.claimed
    while not (able := [it for it in world.present(0) if is_usable(world, it, mark)]):
        yield
    pick = yield
    server = able[pick % len(able)]
    seen = {id(each) for each in world.rows_seen(server, mark)}
    rows = [
        it
        for it in world.store.servers[server].rows
        if tick_of(it.version.row_id) <= mark
        and world.rules.is_remembered(it.version, world.time_of(mark))
    ]
    states = folding.bootstrapped(world.rules.facts(rows, lambda each: id(each) in seen))
    save(world, mark, states)
    return states


def is_usable(world: World, server: str, mark: int) -> bool:
    """Returns True if a bootstrap at a mark reads from a server."""
    settled = world.rules.settled_at(mark, world.store.points_of(server, world.rules))
    is_there = world.mark_of(server) >= mark
    return is_there and world.rules.may_bootstrap(settled, world.store.horizon)


def _done(world: World, tick: Tick, states: States) -> Generator[None, int, States]:
    """Does a tick that the ledger has: rows, ends, claim, and Spark's commit."""
    folded = _folded(world, tick, states)
    known = world.ends.setdefault(tick.number, folded.ends)
    assert known == folded.ends, f"tick {tick.number} was done again with other ends"
    for step in world.rules.order:
        if step == "rows":
            yield from _rows(world, tick)
        elif step == "ends":
            yield from insert(world, Entry("ends", tick.number, tuple(folded.ends)))
        else:
            yield from insert(world, Entry("claim", tick.number))
    after = states | folded.states
    yield
    save(world, tick.number, after)
    yield
    return after


def _folded(world: World, tick: Tick, states: States) -> Folded:
    since_s = visibility.shown_since_s(tick.time_ms, RETENTION_HOURS)
    return world.rules.fold(tick.number, records_of(world, tick), states, since_s)


def _rows(world: World, tick: Tick) -> Steps:
    """Inserts the blocks of a tick; each becomes several parts, if its rows are of several days."""
    rows = records_of(world, tick)
    for block in range(tick.blocks):
        ids = tick.block_row_ids(block)
        mine = [each for each in rows if each[1].row_id in ids]
        if world.rules.is_block_done(world.store.rows_in(ids), len(mine)):
            continue
        for day in sorted({version.order // DAY_SECONDS for _, version in mine}):
            part = tuple(each for each in mine if each[1].order // DAY_SECONDS == day)
            lanes = frozenset(version.lane for _, version in part)
            yield from insert(world, Entry("rows", tick.number, part, lanes))


def save(world: World, number: int, states: States) -> None:
    """Saves a checkpoint, but over a newer one of this table."""
    made = (TickName(GENERATION, number), dict(states))
    world.checkpoints.append(made)
    newest = world.checkpoint
    if newest is None or newest[0].generation != GENERATION or newest[0].number < number:
        world.checkpoint = made


def records_of(world: World, tick: Tick) -> list[tuple[bytes, Version]]:
    """Returns the rows of a tick's records, with their keys; records that are too old give none."""
    found = []
    for lane, (name, (begin, end)) in enumerate(zip(tick.lanes, tick.ranges, strict=True)):
        for offset in range(begin, end):
            record = world.logs[name].records[offset]
            if record is None or not world.rules.is_admitted(record.order, tick.time_ms):
                continue
            for row in range(record.rows):
                row_id = tick.row_id(lane, offset, row)
                key = bytes([(record.key + row) % 3]) * 16
                version = Version(record.order, lane, offset, row, row_id, record.is_delete)
                found.append((key, version))
    return found
