"""Counters of loaders: names, meanings and labels. A counter only grows while its loader lives.

Each has the labels `feed` and `cluster` in front of its own. A time is two counters: the seconds,
and how often they were taken.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from replicator.kafka.client.loss import LossKind

PARTITION = ("topic", "partition")
TABLE = ("topic", "table")
TOPIC = ("topic",)


class LoaderCounter(NamedTuple):
    """A counter: its metric's name without `_total`, its meaning, and its labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


# -- partitions

RECORDS_READ = LoaderCounter(
    "sluice_feed_records_read", "Records read, those read again included.", PARTITION
)
RECORDS_REPLAYED = LoaderCounter(
    "sluice_feed_records_replayed", "Records read again into a block to be repeated.", PARTITION
)
RECORDS_PASSED_OVER = LoaderCounter(
    "sluice_feed_records_passed_over", "Records read again that were loaded already.", PARTITION
)
OFFSETS_EMPTY = LoaderCounter(
    "sluice_feed_offsets_empty", "Offsets passed that hold no record.", PARTITION
)
REPLAYS_SKIPPED = LoaderCounter(
    "sluice_feed_replays_skipped", "Blocks that operators dropped.", PARTITION
)

# -- tables

BLOCKS = LoaderCounter("sluice_feed_blocks", "Blocks that are stored.", TABLE)
ROWS = LoaderCounter("sluice_feed_rows", "Rows of stored blocks.", TABLE)
BLOCK_BYTES = LoaderCounter(
    "sluice_feed_block_bytes", "Bytes of stored blocks, as ClickHouse receives them.", TABLE
)
BLOCK_SECONDS = LoaderCounter(
    "sluice_feed_block_loading_seconds", "Seconds from a formed block to a stored one.", TABLE
)
ROW_LAG_SECONDS = LoaderCounter(
    "sluice_feed_row_lag_seconds",
    "Seconds from the record's timestamp to the stored row, summed over rows.",
    TABLE,
)
BLOCKS_RECOGNIZED = LoaderCounter(
    "sluice_feed_blocks_recognized", "Blocks that the table was found to have.", TABLE
)
INSERT_RETRIES = LoaderCounter(
    "sluice_feed_insert_retries", "Inserts of a block after its first one.", TABLE
)
INSERT_ERRORS = LoaderCounter(
    "sluice_feed_insert_errors",
    "Failed inserts and looks, by ClickHouse's code; socket: of the connection.",
    (*TABLE, "code"),
)
QUORUM_WAITS = LoaderCounter(
    "sluice_feed_quorum_waits", "Inserts that waited for another one into their table.", TABLE
)
QUORUM_WAIT_SECONDS = LoaderCounter(
    "sluice_feed_quorum_wait_seconds", "Seconds of these waits.", TABLE
)
RECORDS_REFUSED = LoaderCounter(
    "sluice_feed_records_refused",
    "Records that became dead letters, by what is wrong: header, table or record.",
    (*TABLE, "reason"),
)

# -- objects

OBJECTS = LoaderCounter("sluice_feed_objects", "Objects that are complete and told.", TOPIC)
OBJECT_RECORDS = LoaderCounter("sluice_feed_object_records", "Records in these objects.", TOPIC)
OBJECT_BYTES = LoaderCounter("sluice_feed_object_bytes", "Bytes of these objects.", TOPIC)
OBJECT_SECONDS = LoaderCounter(
    "sluice_feed_object_completing_seconds", "Seconds from a sealed object to a told one.", TOPIC
)
OBJECTS_NOT_WRITTEN = LoaderCounter(
    "sluice_feed_objects_not_written", "Objects that would have no record in them.", TOPIC
)
RECORDS_LEFT_OUT = LoaderCounter(
    "sluice_feed_records_left_out", "Tombstones that are in no object, nor dead letters.", TOPIC
)
OBJECT_ENDINGS = LoaderCounter(
    "sluice_feed_object_endings", "Objects by the limit that ended them.", (*TOPIC, "reason")
)
OBJECT_LOOKS = LoaderCounter(
    "sluice_feed_object_looks", "HEADs of sealed objects, by what is there.", ("verdict",)
)
UPLOADS_LOST = LoaderCounter(
    "sluice_feed_uploads_lost", "Uploads that were gone, so that their records were read again."
)
STORE_REQUESTS = LoaderCounter(
    "sluice_feed_store_requests",
    "Requests to the store, by HTTP status; none: not answered.",
    ("operation", "status"),
)

# -- loaders

COMMITS = LoaderCounter("sluice_feed_commits", "Commits of intents.")
COMMIT_SECONDS = LoaderCounter("sluice_feed_commit_seconds", "Seconds of these commits.")
COMMIT_FAILURES = LoaderCounter(
    "sluice_feed_commit_failures", "Commits that failed and ended a session.", ("reason",)
)
TAKEOVERS = LoaderCounter("sluice_feed_takeovers", "Partitions that loaders took over.")
TAKEOVER_SECONDS = LoaderCounter(
    "sluice_feed_takeover_seconds", "Seconds from a session's begin to each of these takeovers."
)
RESTARTS = LoaderCounter(
    "sluice_feed_loader_restarts", "How often loaders began anew from the intents.", ("reason",)
)
LOSSES = LoaderCounter("sluice_feed_losses", "How often a partition was parked.", ("kind",))
TAG_FAILURES = LoaderCounter(
    "sluice_feed_tag_failures", "Requests for the tags of an object that the store did not do."
)
SCHEMA_READS = LoaderCounter("sluice_feed_schema_reads", "Reads of a shard's table schemas.")
SCHEMA_CHANGES = LoaderCounter(
    "sluice_feed_schema_changes", "Tables whose columns had changed when they were read again."
)
SCHEMA_FAILURES = LoaderCounter(
    "sluice_feed_schema_failures", "Reads of table schemas that no replica answered."
)

OF_PARTITION = (
    RECORDS_READ,
    RECORDS_REPLAYED,
    RECORDS_PASSED_OVER,
    OFFSETS_EMPTY,
    REPLAYS_SKIPPED,
)
OF_TABLE = (
    BLOCKS,
    ROWS,
    BLOCK_BYTES,
    BLOCK_SECONDS,
    ROW_LAG_SECONDS,
    BLOCKS_RECOGNIZED,
    INSERT_RETRIES,
    QUORUM_WAITS,
    QUORUM_WAIT_SECONDS,
)
OF_OBJECTS = (
    OBJECTS,
    OBJECT_RECORDS,
    OBJECT_BYTES,
    OBJECT_SECONDS,
    OBJECTS_NOT_WRITTEN,
    RECORDS_LEFT_OUT,
)
OF_LOADER = (
    COMMITS,
    COMMIT_SECONDS,
    TAKEOVERS,
    TAKEOVER_SECONDS,
    TAG_FAILURES,
    SCHEMA_READS,
    SCHEMA_CHANGES,
    SCHEMA_FAILURES,
)
COUNTERS = (
    *OF_PARTITION,
    *OF_TABLE,
    *OF_OBJECTS,
    *OF_LOADER,
    OBJECT_ENDINGS,
    OBJECT_LOOKS,
    UPLOADS_LOST,
    STORE_REQUESTS,
    INSERT_ERRORS,
    RECORDS_REFUSED,
    COMMIT_FAILURES,
    RESTARTS,
    LOSSES,
)

COMMIT_REASONS = ("fenced", "other")
RESTART_REASONS = ("fenced", "unreachable", "failed")
LOSS_KINDS = (
    LossKind.RETENTION_PASSED,
    LossKind.SOURCE_TRUNCATED,
    LossKind.SOURCE_DELETED,
    LossKind.SOURCE_RECREATED,
    LossKind.SOURCE_WENT_BACK,
    LossKind.SOURCE_CORRUPT,
    LossKind.RECORDS_REFUSED,
    LossKind.BLOCK_DOUBTFUL,
    LossKind.OBJECT_TAKEN,
    LossKind.OBJECT_SETTINGS,
    LossKind.LETTER_REFUSED,
    LossKind.INTENT_GONE,
    LossKind.LOADER_FAILED,
)
"""Losses for which a partition of a feed is parked."""


def verdict_label(verdict: Enum) -> str:
    """Returns the label of what is under an object's name."""
    return verdict.name.lower()


def kind_label(kind: LossKind) -> str:
    """Returns the label of a kind of loss."""
    return kind.name.lower()
