"""Values of commands about routes: status, alerts, audits, copies, losses, configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from balancer.topic_partition import TopicPartition
from replicator.audit.audit import AuditRequest, AuditResult
from replicator.audit.partition_audit import Depth
from replicator.audit.record_counts import EXPIRED, GONE, RecordCounts
from replicator.audit.verdict import Row
from replicator.audit.window import Window
from replicator.config.mistakes import ConfigMistakes, Mistake
from replicator.config.topology import Appliance, load
from replicator.mirror.offset_map.read_back import ReadBack
from replicator.mirror.repair.accept_loss import NO_ENTRY, Accepted, Parked
from replicator.mirror.repair.rewind import Rewound
from replicator.notices.acknowledgement import Acknowledgement
from replicator.notices.condition import Condition
from tests.replicator.config.test_feed_contradictions import feed as feed_text
from tests.tui.console.values.balancing import balance
from tests.tui.console.values.findings import alerts, audits, events
from tests.tui.console.values.groups import group_detail, groups
from tests.tui.console.values.plans import plan_summary
from tests.tui.console.values.regions import daemons, region
from tests.tui.console.values.routes import (
    parked,
    partition,
    route,
    topic,
    unknown,
    with_partitions,
)
from tests.tui.console.values.times import NOW, NOW_MS, REFUSED
from tests.tui.facts.test_anomaly import anomaly
from tests.tui.output.odd import ODD
from tests.tui.pages.finding_snapshots import PARKED as PARKED_ALERT
from tests.tui.pages.finding_snapshots import RESOLVED, SILENCED, busy_feed
from tui.commands.accept_loss import LossReport
from tui.commands.offsets import RegionCopy
from tui.facts.connections import Connection
from tui.facts.part import Part
from tui.facts.region_view import RegionView
from tui.facts.route_view import RouteView, SilentCarrier
from tui.facts.snapshot import Snapshot

NOTES = ("4 partitions, the sources have 2: carried on", ODD)


def status() -> Snapshot:
    """Returns a snapshot with every part, every remark, and a route whose source is silent."""
    waiting = replace(
        partition("orders", 1, lag=21_200),
        open_transaction_seconds=61.4,
        written_lag_records=21_300,
        silent_carrier=SilentCarrier(number=1, host="repl-b", pid=812, heard_at=NOW - 90.0),
    )
    short = replace(partition("orders", 2), open_transaction_seconds=60.0)
    orders = topic("orders", (partition("orders", 0), waiting, short, unknown("orders", 3)))
    stuck = topic("clicks", (parked("clicks", 0), partition("clicks", 1)))
    paused = topic(ODD, (partition(ODD, 0),))
    bare = with_partitions(replace(stuck, topic="fresh", states=()), ())
    both = (
        replace(orders, notes=NOTES),
        stuck,
        replace(paused, states=("mirrored", "paused")),
    )
    silent = RouteView(
        route="north>east",
        source="north",
        target="east",
        topics=None,
        denied_topics=0,
        problems=("north regional: no answer",),
        why="north regional: no answer",
    )
    first = replace(route("west", "east", both), topics=(*both, bare))
    found = (first, route("east", "east", (both[0],)), silent)
    waits = Condition(
        kind="source-silent",
        who="replicate east",
        text=f"north regional does not answer: {REFUSED}",
        since_ms=NOW_MS - 81_000,
        cluster="north regional",
    )
    told = replace(
        waits, kind="parked", text="told below", route="west>east", topic="clicks", partition=0
    )
    return Snapshot(
        taken_at=NOW,
        parts=(
            Part(server="east regional", about="topics", asked_at=NOW - 1.2, cadence_seconds=30.0),
            Part(
                server="east redis",
                about="reports",
                asked_at=NOW - 82.0,
                problem=f"east redis: {ODD}",
                problem_since=NOW - 81.0,
            ),
            Part(server="north regional", about="topics", asked_at=None),
        ),
        regions=(
            RegionView(
                region="east",
                daemons=daemons(missing="offsets"),
                regional="ok",
                aggregate="no right",
                redis="silent",
                copies_age_seconds=0.3,
                problems=(f"east redis: {ODD}",),
            ),
            region("west"),
            RegionView(region="north"),
        ),
        routes=tuple(
            replace(it, lag_history=(1.0, None, 3.5), rate_history=(2.0, None)) for it in found
        ),
        conditions=(
            waits,
            replace(waits, kind="paused", text=ODD, route="west>east", topic="orders"),
            told,
            replace(told, partition=1, since_ms=10**18),
        ),
        groups=groups(),
        group_detail=group_detail(),
        balance=(balance("west"),),
        plans=(plan_summary(),),
        audits=audits(),
        anomalies=(anomaly(),),
        acknowledgements=(ACKNOWLEDGED,),
        alerts=(PARKED_ALERT, SILENCED, RESOLVED),
        feeds=(busy_feed(),),
        events=events(),
    )


ACKNOWLEDGED = Acknowledgement(key="copies/east", who="ann@ops", why="looking", at_ms=NOW_MS)
ALERTS = (
    PARKED_ALERT,
    *alerts(),
    SILENCED,
    RESOLVED,
    replace(RESOLVED, key=ODD, region="", text=ODD, since_ms=10**18),
)
PROBLEMS = ("west Redis: no answer", ODD)


def audit(by: Depth = Depth.COUNT) -> AuditRequest:
    return AuditRequest(
        routes=(), topics=frozenset(), window=Window(0, 600_000), depth=by, now_ms=700_000
    )


AUDITED = AuditResult(
    (
        Row("west>east", "orders", 0, RecordCounts(source_records=1200, target_records=1200)),
        Row(
            "west>east",
            "orders",
            1,
            RecordCounts(
                source_records=900,
                target_records=897,
                source_bytes=90_000,
                target_bytes=89_700,
                missing=3,
                surplus=1,
                changed=2,
                foreign=2,
                doubts={GONE: 4},
                examples=("missing: source offsets 5..7", ODD),
            ),
        ),
        Row(
            "west>west", "orders", 0, RecordCounts(source_records=9, behind=9, notes=("is parked",))
        ),
        Row("west>west", "old", 0, RecordCounts(doubts={EXPIRED: 40}, held_back=3)),
    ),
    ("west regional: no broker answers", ODD),
)

COPIES = (
    RegionCopy("west", "commits", 0.31, groups=12),
    RegionCopy("west", "runs east>west", None, partitions=3, runs=400),
    RegionCopy("west", "runs west>west", 1.0, partitions=3, runs=None),
    RegionCopy("west", "primary regions", 12.0, groups=0),
)
READ_BACK = (
    ReadBack("west>east", 12, 3400, 1_200_000, None),
    ReadBack("east>east", 0, 0, 0, ODD),
)
REWOUND = (
    Rewound(TopicPartition("orders", 0), 1200, 700),
    Rewound(TopicPartition(ODD, 11), 5, 5),
)

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 11)
PARKED = LossReport(parked=(Parked(ONE, None, NO_ENTRY), Parked(TWO, None, ODD)))
ACCEPTED_AND_LEFT = LossReport(
    accepted=(Accepted(ONE, ("source batch cannot be read", ODD), 7),),
    left={TWO: "no leader in the target"},
)
LOSSES = {
    "": ACCEPTED_AND_LEFT,
    "_parked": PARKED,
    "_accepted": replace(ACCEPTED_AND_LEFT, left={}),
    "_left": replace(ACCEPTED_AND_LEFT, accepted=()),
    "_none": LossReport(),
}

CONFIG = """
routes = ["west>east", "east>east"]
[topics]
deny = ["secret.*"]
[regions.west]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:1", "127.0.0.2:1"]
aggregate.bootstrap = ["127.0.0.1:2"]
[regions.east]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:3"]
aggregate.bootstrap = ["127.0.0.1:4"]
"""


def appliance(*feeds: str) -> Appliance:
    """Returns a configuration of two regions with these feeds."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "appliance.toml"
        file.write_text(CONFIG + "".join(feed_text(name, topics=f"'{name}'") for name in feeds))
        return load(file)


SOUND = (Connection("west regional", "x", ""), Connection("west aggregate", "y", ""))
AWAY = (Connection("west regional", None, ODD), Connection("west aggregate", "y", ""))
MISTAKES = ConfigMistakes(
    "appliance.toml", (Mistake("routes.0", "no region 'north'"), Mistake("", ODD))
)
