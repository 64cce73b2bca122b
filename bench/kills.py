"""Kills: the whole system is killed with -9 every 25 s under load, and every record is counted.

Each kill waits until the system carries again after the former one. At the end another client reads
both ends: the target as read_uncommitted (the Java default) and as read_committed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.feed_producer import PacedProducer
from bench.ground import Ground, delete_topics, log_end, make_topic, say
from bench.measure import START_SECONDS_MAX, Tree
from bench.mirror import Factory, Mirror, Order
from deploy.lab.compare import RouteVerdict
from deploy.lab.dump import Isolation, compare_dumps, dump
from deploy.lab.wait import until

KILL_EVERY_SECONDS = 25.0
AT_WORK_SECONDS = 5.0
CATCH_UP_SECONDS_MAX = 120.0
# Without growth for this long, the target counts as final.
QUIET_SECONDS = 12.0
RECORD_BYTES = 200
TOPIC = "kills"
ROUTE = "source>target"


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of two kinds of readers. `lost` counts records that a read_committed reader does not
    see."""

    sent: int
    kills: int
    duplicates_uncommitted: int
    duplicates_committed: int
    lost: int
    reordered: int
    peak_rss_mb: float


def measured(
    ground: Ground,
    factory: Factory,
    *,
    kills: int,
    records_per_second: int,
    every_seconds: float = KILL_EVERY_SECONDS,
) -> Counted:
    """Measures one system under kills. Raises NotStarted if it does not start even once."""
    make_topic(ground.source, TOPIC)
    mirror = factory(ground, Order(TOPIC, "kills"))
    filling = b"." * (RECORD_BYTES - 12)
    load = PacedProducer(
        ground.source,
        TOPIC,
        records_per_second,
        linger_ms=20,
        value=lambda number: b"%012d" % number + filling,
    )
    try:
        load.start()
        mirror.start()
        peak_rss_mb = _under_fire(ground, mirror, kills, every_seconds)
        load.stop()
        _catch_up(ground, mirror, load.sent)
        mirror.process.stop()
        found = _counted(ground, mirror, kills, peak_rss_mb)
    finally:
        load.stop()
        mirror.stop()
        delete_topics(ground.source, [TOPIC])
    say(
        f"  {found.sent:,} records, {kills} kills: duplicates"
        f" {found.duplicates_uncommitted:,} (read_uncommitted),"
        f" {found.duplicates_committed:,} (read_committed); lost {found.lost:,};"
        f" reordered {found.reordered:,}"
    )
    return found


def _under_fire(ground: Ground, mirror: Mirror, kills: int, every_seconds: float) -> float:
    """Kills and restarts the system repeatedly. Returns its peak memory in MB."""
    admin = ground.target.admin()

    def arrives() -> bool:
        if not mirror.process.is_running():
            raise mirror.process.failure("has ended")
        return log_end(admin, mirror.target_topic) > 0

    if not until(arrives, START_SECONDS_MAX):
        raise mirror.process.failure(f"has carried nothing in {START_SECONDS_MAX:.0f} s")
    peak_rss_mb = 0.0
    killed_at, there = time.monotonic(), 0
    for number in range(1, kills + 1):
        tree = Tree(mirror.process.pid)
        before = there

        def carries(before: int = before) -> bool:
            return log_end(admin, mirror.target_topic) > before

        # Killing a system before it carries again could neither lose nor repeat a record.
        if not until(carries, START_SECONDS_MAX):
            raise mirror.process.failure(f"has not come back in {START_SECONDS_MAX:.0f} s")
        kill_at = max(killed_at + every_seconds, time.monotonic() + AT_WORK_SECONDS)
        while time.monotonic() < kill_at:
            tree.look()
            time.sleep(0.5)
        peak_rss_mb = max(peak_rss_mb, tree.peak_rss_mb)
        mirror.kill()
        killed_at, there = time.monotonic(), log_end(admin, mirror.target_topic)
        say(f"  kill {number} of {kills}; {there:,} at the target")
        mirror.start()
    return peak_rss_mb


def _catch_up(ground: Ground, mirror: Mirror, sent: int) -> None:
    """Waits until all records have arrived and the target's log has stopped growing."""
    admin = ground.target.admin()
    arrived, moved_at = 0, time.monotonic()
    give_up_at = moved_at + CATCH_UP_SECONDS_MAX
    while time.monotonic() < give_up_at:
        time.sleep(0.5)
        now_there = log_end(admin, mirror.target_topic)
        if now_there != arrived:
            arrived, moved_at = now_there, time.monotonic()
        if arrived >= sent and time.monotonic() - moved_at > QUIET_SECONDS:
            return
    say(f"  not caught up after {CATCH_UP_SECONDS_MAX:.0f} s: {arrived:,} of {sent:,}")


def _counted(ground: Ground, mirror: Mirror, kills: int, peak_rss_mb: float) -> Counted:
    sources = {ROUTE: dump(ground.source, TOPIC)}

    def verdict(isolation: Isolation) -> RouteVerdict:
        target = dump(ground.target, mirror.target_topic, isolation)
        return compare_dumps(sources, target, TOPIC).total

    committed, uncommitted = verdict("read_committed"), verdict("read_uncommitted")
    return Counted(
        sent=committed.sent,
        kills=kills,
        duplicates_uncommitted=uncommitted.duplicated,
        duplicates_committed=committed.duplicated,
        lost=committed.lost + committed.changed,
        reordered=max(committed.reordered, uncommitted.reordered),
        peak_rss_mb=peak_rss_mb,
    )
