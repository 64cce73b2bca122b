"""Values of commands about feeds: their status, objects, losses, restores and verifications."""

from __future__ import annotations

from dataclasses import replace

from aggregator.intents.table_range import Manifest, TableRange
from aggregator.loader.reports import FeedPartition, TableReport
from aggregator.objects.forgotten import Forgotten, Log
from aggregator.restore.restore_entry import claim
from aggregator.restore.restore_job import RestoreState
from aggregator.restore.restore_plan import Doubt, PartitionPlan
from aggregator.restore.restored_runs import GroupPosition
from aggregator.s3.object_listing import Difference
from aggregator.s3.object_store import Found, Upload
from aggregator.s3.upload_sweep import Fate, JudgedUpload
from aggregator.upsert.version import EndKind, RowEnd
from aggregator.verifier.check import CheckResult, OwnerRow
from aggregator.verifier.cluster_judge import Judgement
from aggregator.verifier.finding import Finding as EntryFinding
from aggregator.verifier.finding import Kind, Weight
from aggregator.verifier.object_check import ObjectCount
from aggregator.verifier.owners import Subject
from aggregator.verifier.row_check import RowCount
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.commit_record import Commit
from replicator.notices.condition import Condition
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import Freeze
from tests.aggregator.objects.test_told_objects import TOLD
from tests.aggregator.restore.test_restore_plan import REQUEST
from tests.aggregator.restore.told import told
from tests.replicator.config.any_feed import ANY_FEED, ANY_OBJECT_FEED
from tests.tui.commands.test_aggregate_losses import parked
from tests.tui.facts.test_feed_status import (
    CLUSTER,
    FACTS,
    FIRST,
    INTENT,
    NOW_MS,
    REPORT,
    SECOND,
    TABLE,
)
from tests.tui.facts.test_upsert_status import ANSWER, TICK
from tests.tui.facts.test_upsert_status import FACTS as UPSERT_FACTS
from tests.tui.facts.test_upsert_status import NOW_MS as UPSERT_MS
from tests.tui.output.odd import ODD
from tui.commands.restore import RestoreResult
from tui.facts.exactness import Diagnosis, DiagnosisKind, Verdict
from tui.facts.feed_findings import FeedCheck, Finding
from tui.facts.feed_losses import ContinuedPartition, FeedLosses
from tui.facts.feed_objects import (
    DroppedObjects,
    Forgetting,
    ObjectListing,
    Overwrites,
    Sweep,
    TakenObject,
)
from tui.facts.feed_scope import PendingBlock
from tui.facts.feed_status import FeedStatus, feed_status
from tui.facts.upsert_status import UpsertStatus
from tui.facts.upsert_status import upsert_status as upsert_status_of
from tui.facts.watch.exactness_probe import Exactness

THIRD = FeedPartition(CLUSTER, "clicks", 0)
OLD = replace(INTENT, tables={"flights": TableRange(90, 120, 30, "h", NOW_MS - 40_000)})
LOST = INTENT.park(Loss(LossKind.RETENTION_PASSED, 5, 90, ODD))
WAITS = Condition(
    kind="loader-waits",
    who="loader 2 of flights in region regional",
    text=ODD,
    since_ms=NOW_MS - 60_000,
    feed="flights",
    cluster=CLUSTER,
)
UNASKED = replace(
    WAITS, kind="topics-unknown", who="aggregate region", text="no answer", feed="", cluster=""
)
TOLD_BELOW = replace(WAITS, kind="parked", text="told below", topic="flights", partition=1)
FREEZE = Freeze(route="flights", at_ms=NOW_MS - 5000, who="ann@ops", why=ODD, topic="flights")
LAKE = ObjectFeed.model_validate(
    {**ANY_FEED, **ANY_OBJECT_FEED, "name": "lake", "shards": (), "topics": ["flights"]}
)
SEALED = Manifest(90, 120, 30, "", NOW_MS - 20_000, size_bytes=700, crc32c=1)


def feeds() -> FeedStatus:
    """Returns a feed into tables, one of which nothing is known, and one into objects."""
    tables = replace(
        FACTS,
        partitions={CLUSTER: (FIRST, SECOND, THIRD)},
        intents={CLUSTER: {FIRST: OLD, SECOND: LOST}},
        tables={
            0: {
                "flights": TABLE,
                "plain": replace(TABLE, window_blocks=0, has_coordinates=False),
                ODD: replace(TABLE, window_seconds_max=None, blocks_per_second=0.0),
            },
            1: None,
        },
        orders=FeedOrders(feed="flights", freezes=(FREEZE,)),
        conditions=(UNASKED, WAITS, TOLD_BELOW),
        problems=("ClickHouse at two: no answer", ODD),
    )
    away = replace(
        FACTS,
        feed=FACTS.feed.model_copy(update={"name": "away", "shards": FACTS.feed.shards[:1]}),
        partitions={},
        tables={0: {}},
        conditions=(UNASKED,),
        problems=("region regional: no answer",),
    )
    opened = replace(
        REPORT,
        tables={"month=7": TableReport("loading", NOW_MS - 20_000)},
        open_objects=3,
        open_since_ms=NOW_MS - 61_000,
    )
    lake = replace(
        FACTS,
        feed=LAKE,
        partitions={CLUSTER: (FIRST, SECOND, THIRD)},
        intents={
            CLUSTER: {
                FIRST: replace(INTENT, tables={"month=7": SEALED}),
                SECOND: replace(INTENT, tables={}),
            }
        },
        reports={FIRST: opened, SECOND: replace(REPORT, tables={}, partition=1, open_objects=0)},
        tables={},
        orders=FeedOrders(
            feed="lake", freezes=(FREEZE.model_copy(update={"route": "lake", "topic": None}),)
        ),
    )
    dark = replace(
        lake,
        feed=LAKE.model_copy(update={"name": "dark"}),
        partitions={},
        reports=None,
        orders=None,
    )
    return feed_status([lake, tables, away, dark], NOW_MS)


CHECK = FeedCheck(
    ("delays", "flights"),
    (
        Finding("air.delays", "recognizes 100 blocks", is_mistake=False),
        Finding("air.flights", "is missing on one: its records are set aside"),
        Finding(ODD, ODD),
    ),
    ("ClickHouse at two: away", ODD),
)
CHECKED_FEEDS = {
    "": CHECK,
    "_mistake": replace(CHECK, problems=()),
    "_problem": replace(CHECK, findings=()),
    "_ok": replace(CHECK, findings=CHECK.findings[:1], problems=()),
}

FORGOTTEN = Forgotten(Log.of(TOLD)).with_objects([TOLD], 1)
LATER = Forgotten(Log.of(TOLD)._replace(incarnation=7)).with_objects([TOLD], 1)
LISTINGS = {
    "": ObjectListing(
        (TOLD, replace(TOLD, key=ODD, begin=270, end=300)),
        (Difference(TOLD.key, "is not there", is_missing=True), Difference(ODD, ODD, False)),
        (FORGOTTEN, LATER),
    ),
    "_unasked": ObjectListing((TOLD,)),
    "_none": ObjectListing((), ()),
}

PLACE = FeedPartition("west regional", "flights", 3)
OTHER = FeedPartition("west regional", ODD, 14)
LOSSES = {
    "_parked": FeedLosses(parked=(parked(LossKind.SOURCE_CORRUPT), parked(None))),
    "": FeedLosses(
        continued=(ContinuedPartition(PLACE, "source batch cannot be read", 95),),
        left={OTHER: "a loader was faster: look again"},
    ),
    "_continued": FeedLosses(continued=(ContinuedPartition(PLACE, ODD, 95),)),
    "_left": FeedLosses(left={OTHER: ODD}),
    "_none": FeedLosses(),
}

MANIFEST = Manifest(7, 14, 7, "", 1_700_000_000_000, size_bytes=2049, crc32c=0x4C5A3041)
TAKEN = TakenObject(
    FeedPartition("east aggregate", "flights", 3),
    "topics/flights/partition=3/flights+3+0000000007.zstd.parquet",
    MANIFEST,
    Found(16, 0x7DEB70DA, {}, '"etag"', 1.7e9),
)
UNSUMMED = replace(TAKEN, key=ODD, there=Found(17, None, {}, '"e"', 1.7e9))
FREE = TakenObject(FeedPartition("east aggregate", "flights", 4), "topics/other", MANIFEST, None)
OVERWRITES = {
    "": Overwrites((TAKEN, UNSUMMED, FREE), left={OTHER: ODD}),
    "_done": Overwrites(continued=(TAKEN,), left={FREE.partition: "its name is free"}),
    "_none": Overwrites(),
}

UPLOADS = tuple(
    JudgedUpload(Upload(f"topics/t/p=0/t+0+{at:010}.parquet", f"id-{at}", 1.7e9 + at), fate)
    for at, fate in enumerate([Fate.STALE, Fate.YOUNG, Fate.NEEDED, Fate.FOREIGN])
)
SWEEPS = {
    "": Sweep(UPLOADS, is_dry=False),
    "_dry": Sweep((*UPLOADS, UPLOADS[-1]), is_dry=True),
    "_none": Sweep((), is_dry=False),
}

OBJECTS = [
    replace(told(0, 10), told_at_ms=1_700_000_000_000),
    replace(told(10, 15, left_out=5), told_at_ms=1_700_000_001_000, size_bytes=0),
    replace(told(20, 40, left_out=1), told_at_ms=1_700_000_009_000),
]
DROPPED = DroppedObjects.of(Log.of(OBJECTS[0]), OBJECTS)
HUGE = replace(DROPPED, log=DROPPED.log._replace(topic=ODD, incarnation=7), size_bytes=7 << 30)
FORGETTINGS = {
    "": Forgetting((DROPPED, HUGE), is_done=True),
    "_dry": Forgetting((DROPPED,), is_done=False),
    "_none": Forgetting((), is_done=True),
}

BLOCKS = tuple(
    PendingBlock(place, "departures", TableRange(10, 25, 12, "h", sealed_ms))
    for place, sealed_ms in ((PLACE, 1_800_000_000_000), (OTHER, 10**18))
)

RESTORED = (
    PartitionPlan(0, 100, 300, (told(100, 200), told(200, 300)), Doubt(100, 300, ((180, 200),))),
    PartitionPlan(
        1,
        0,
        0,
        (),
        forgotten=Forgotten(Log("east aggregate", "t", 0)).with_objects([told(1, 9)], 1).ranges,
    ),
    PartitionPlan(2, 0, 9, (), Doubt(0, 1, ())),
)
ENTRIES = {plan.partition: claim("job", "text", plan, 0, "id") for plan in RESTORED}
ENTRIES[0] = ENTRIES[0].passed(250, 150)
STATE = RestoreState(plans=RESTORED, entries=ENTRIES, partitions=3, is_there=False)
DONE_STATE = RestoreState(
    plans=(PartitionPlan(1, 0, 0, ()),), entries=ENTRIES, partitions=2, is_there=True
)
RESTORES = {
    "": RestoreResult(REQUEST, STATE, (GroupPosition(0, 120, 20), GroupPosition(0, 280, None))),
    "_listed": RestoreResult(replace(REQUEST, is_listed=True), STATE, ()),
    "_done": RestoreResult(REQUEST, DONE_STATE, ()),
}

WEST, EAST = ClusterName.regional("west"), ClusterName.aggregate("east")
SUBJECT = Subject(WEST, "feed flights", "departures", 3)
BEFORE = Commit(10, '{"v":1,"count":10}', 60_000)
AFTER = Commit(12, ODD, 61_000)
GAP = EntryFinding(Kind.GAP, "fewer records are accounted for", begin=10, end=12)
OVERLAP = EntryFinding(Kind.OVERLAP, ODD, begin=5, end=6, table="flights")
UNSEEN = EntryFinding(Kind.UNSEEN, "no entry before it was seen", Weight.UNKNOWN)
ALLOWED = EntryFinding(Kind.LOSS, "an operator accepted a loss: retention", Weight.ACCEPTED)
UNJUDGED = Judgement(SUBJECT._replace(partition=4), 62_000, None, AFTER, (UNSEEN,))
ROWS = (
    OwnerRow(EAST, "route west>east", 12, 480, {}),
    OwnerRow(
        WEST, "feed flights", 6, 77, {Weight.ANOMALY: 2, Weight.ACCEPTED: 1, Weight.UNKNOWN: 2}
    ),
    OwnerRow(WEST, "feed other", None, None, None),
)
COUNT = RowCount(WEST, "flights", "departures", "departures", "ch-1:9000", expected=900, found=900)
CHECKS = {
    "": CheckResult(
        "east",
        0,
        ROWS,
        (
            Judgement(SUBJECT, 61_000, BEFORE, AFTER, (GAP, OVERLAP)),
            UNJUDGED,
            UNJUDGED,
            Judgement(SUBJECT._replace(partition=5), 63_000, BEFORE, None, (ALLOWED,)),
        ),
        ("north is away", ODD),
        (
            COUNT,
            replace(
                COUNT,
                replica="ch-2:9000",
                found=899,
                missing=2,
                surplus=4,
                doubled=1,
                changed=3,
                examples=["missing: partition 3, offsets 5..6", ODD],
            ),
            replace(COUNT, table="other", found=0, doubts=["the table has no coordinate columns"]),
            replace(COUNT, table="partly", doubts=["partition 3 is being moved"]),
            replace(COUNT, table="empty", expected=0, found=0),
        ),
        (
            ObjectCount(EAST, "lake", "s3://b/topics", told=40),
            ObjectCount(EAST, ODD, "s3://b/t", 41, 1, 2, 3, 4, examples=["missing: t+0", ODD]),
        ),
    ),
    "_clean": CheckResult("east", 0, ROWS[:1], ()),
    "_none": CheckResult("east", 0, (), (), (), (), ()),
}

FOUND = Exactness(
    "east",
    (
        Diagnosis(
            Verdict.HAPPENED,
            DiagnosisKind.DOUBLED,
            "air.t on one:9000",
            "2 rows too many",
            "keep one",
        ),
        Diagnosis(
            Verdict.POSSIBLE, DiagnosisKind.CLOCK, ODD, "15 s ahead", "synchronise the clocks"
        ),
    ),
    ("east aggregate: away", ODD),
)
DIAGNOSED = {
    "": FOUND,
    "_diagnosis": replace(FOUND, problems=()),
    "_problem": replace(FOUND, diagnoses=()),
    "_ok": replace(FOUND, diagnoses=(), problems=()),
}


# -- Upsert tables.

UPSERT_TABLES = {
    "": upsert_status_of(
        [
            replace(UPSERT_FACTS, problems=(f"two: {ODD}",)),
            replace(
                UPSERT_FACTS,
                tick=replace(TICK, number=9, stops=()),
                orders=FeedOrders(
                    feed="feed",
                    freezes=(Freeze(route="feed", at_ms=1, who="ann@host", why=ODD),),
                ),
                servers={"one": ANSWER, "two": ANSWER},
            ),
        ],
        UPSERT_MS,
    ),
    "_unknown": upsert_status_of(
        [
            replace(
                UPSERT_FACTS,
                tick=None,
                is_tick_known=False,
                ends={},
                unknown_clusters=("region regional",),
                orders=None,
                servers={"one": None, "two": None},
            )
        ],
        UPSERT_MS,
    ),
    "_none": UpsertStatus(taken_at=UPSERT_MS / 1000, tables=()),
}
ROW_ENDS = [
    RowEnd(1 << 32, 2, 7, EndKind.SUPERSEDED, 3, (3 << 32) + 4, bytes(range(16))),
    RowEnd((3 << 32) + 1, 0, 9, EndKind.LATE, 3, 2 << 32, bytes(16)),
    RowEnd((2 << 32) + 5, 1, 12_345_678, EndKind.DELETED, 2_147_483_647, 3 << 62, bytes(16)),
]
