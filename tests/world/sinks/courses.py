"""Courses of loaders' histories: which faults meet which feed, for how long."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.world.sinks import markers, other_logs
from tests.world.sinks.accepting import Accepting
from tests.world.sinks.loaded_feed import Driving
from tests.world.sinks.scene import RESTS, Course

USUAL = Course()
STOPS = Course(seconds=100.0, fault_seconds=2.5, only=("refuse inserts", "stop a loader"))
"""Course in which loaders stand still while their blocks wait."""
TAKEOVERS = Course(
    seconds=120.0, shard=(3, 2), only=("strike at an intent", "kill a loader soon", "outage")
)
"""Course in which blocks are repeated when their hashes are forgotten."""
CLOCKS = Course(
    seconds=120.0,
    shard=(3, 2),
    clocks=True,
    only=("strike at an intent", "kill a loader soon", "outage", "set a clock at an intent"),
)
"""Course of loaders whose clocks differ from each other's and the servers', and are set."""
SERVERS = Course(shard=(3, 2), only=("kill a server", "stop a server", "slow server"))
"""Course in which servers fail."""
REBUILDS = Course(
    seconds=60.0, fault_seconds=3.0, shard=(3, 2), only=("rebuild a server", "kill a loader")
)
"""Course in which servers are rebuilt, and their tables come later."""
POISONED = Course(
    topics=("orders",),
    partitions=3,
    loaders=2,
    seconds=32.0,
    shard=(2, 0),
    only=("new epoch", "kill a loader soon"),
    fault_seconds=8.0,
    poison=True,
)
"""Course of records at which loaders fail."""
LEFT_OUT = Course(
    topics=("orders",),
    partitions=4,
    loaders=3,
    seconds=20.0,
    fault_seconds=1.0,
    shard=(2, 0),
    only=markers.KINDS,
    letters=True,
)
"""Course of commits whose intents have no marker, beside dead letters that have one."""
COMMITS = Course(seconds=40.0, shard=(2, 0), only=("lose answers",))
"""Course in which commits of parts get no answer, and half of them are not made."""
STALL = Course(seconds=60.0, stalls=("delays",), bound_seconds=12.0)
"""Course in which nothing fails, and a table takes no inserts."""
CROWDED = replace(STALL, seconds=45.0, block_mib=0.01, bound_seconds=20.0)
"""The same with partitions that a table fills that stands still."""
MANY = replace(
    CROWDED,
    partitions=1,
    topics=("orders",),
    tables={"flights": 16, "delays": 20, "gates": 20, "crews": 20, "fares": 20},
    stalls=("delays", "gates", "crews", "fares"),
    block_seconds=4.5,
    filling=1500,
    bound_seconds=25.0,
)
"""The same with more such tables than a partition has room for blocks."""
RETURNS = Course(
    seconds=90.0,
    fault_seconds=8.0,
    stalls=("delays",),
    returns_seconds=16.0,
    block_mib=0.01,
    only=("kill a loader soon", "strike at an intent", "stop a loader"),
)
"""Course in which a table that filled its partitions takes inserts again; loaders are struck."""
MANY_RETURNS = replace(
    MANY,
    loaders=2,
    seconds=60.0,
    fault_seconds=10.0,
    returns_seconds=14.0,
    filling=1200,
    only=RETURNS.only,
    bound_seconds=math.inf,
)
"""Course in which many tables that filled their partitions take inserts again, one by one."""

CUT = Course(
    partitions=2,
    topics=("orders",),
    seconds=100.0,
    fault_seconds=3.0,
    only=(
        *(it.name for it in (*other_logs.CUTS, *other_logs.ACCEPTANCES)),
        *("strike at an intent", "kill a loader soon", "refuse inserts", "preferred election"),
    ),
    accepting=Accepting(),
)
"""Course of logs that lose their last records, which may be stored."""
MANY_CUTS = replace(
    CUT,
    partitions=1,
    seconds=40.0,
    fault_seconds=0.8,
    fetch_bytes=300,
    only=(
        *(it.name for it in (other_logs.CUTS[0], *other_logs.ACCEPTANCES)),
        *("strike at an intent", "kill a loader soon", "refuse inserts", "preferred election"),
    ),
)
"""Course of a log that is cut again and again, also while it is read again."""
RECREATED = Course(
    partitions=2,
    topics=("orders", "clicks"),
    seconds=250.0,
    fault_seconds=4.0,
    only=(
        *(it.name for it in (*other_logs.RECREATIONS, *other_logs.ACCEPTANCES)),
        *("strike at an intent", "kill a loader soon"),
    ),
    driving=Driving(),
    accepting=Accepting(),
)
"""Course of topics that are created again, also while no driver runs."""
LETTERS_OF_LOGS = Course(
    topics=("orders",),
    partitions=1,
    loaders=2,
    seconds=20.0,
    fault_seconds=1.0,
    shard=(2, 0),
    only=(
        *(it.name for it in (*markers.BESIDE_LOGS, *other_logs.ACCEPTANCES)),
        *("kill a loader soon", "new epoch"),
    ),
    driving=Driving(),
    poison=True,
    poison_share=0.3,
    accepting=Accepting(),
)
"""Course of lost commits with dead letters, of a log that is another one before anybody looks."""
AWAY = replace(RESTS, seconds=200.0, only=("loaders away", "kill a loader"), fault_seconds=3.0)
"""Course of loaders that are away beside a driver."""
STILL = replace(AWAY, only=("loaders stand still", "kill a loader"))
"""Course of loaders that a driver takes for dead, and that go on while it stands still."""
