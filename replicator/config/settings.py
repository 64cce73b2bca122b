"""Settings tables of the configuration: topics, replicator, metrics, offsets.

Every default here is documented in deploy/appliance.toml; a test compares the two.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import re2
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    model_validator,
)

from replicator.config.mistakes import raise_if_any
from replicator.config.security import beside_the_file

Int = Annotated[int, Strict()]
Float = Annotated[float, Strict(), Field(allow_inf_nan=False)]
PORT_MAX = 65535
MetricsPort = Annotated[Int, Field(ge=0, le=PORT_MAX)]
"""Port of a daemon's metrics; 0 = off."""
BLOCK_ROWS_MAX = 1_048_576
"""Most rows of one insert: a ClickHouse server splits more into several blocks."""
PRODUCER_EPOCH_MAX = 32_000
"""Producer epoch before which a transactional id is rotated. Kafka's own end is 32767: there the
broker would give another producer id, which fences nobody."""


def re2_options() -> re2.Options:
    """Returns RE2's options without its own log lines: our error is raised, and shown once."""
    options = re2.Options()
    options.log_errors = False
    return options


def valid_pattern(pattern: str) -> str:
    """Returns an RE2 pattern; raises ValueError, with RE2's reason, if it does not compile."""
    try:
        re2.compile(pattern, re2_options())
    except re2.error as error:
        detail = error.args[0] if error.args else error
        text = detail.decode() if isinstance(detail, bytes) else str(detail)
        raise ValueError(f"not an RE2 pattern: {text}") from None
    return pattern


def start_of(value: Any) -> Any:
    """Converts a date-time to milliseconds since 1970; returns any other valid start as it is.

    Raises ValueError for anything that is no start.
    """
    if isinstance(value, str) and value not in ("earliest", "latest"):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("the date-time needs a zone, e.g. 2013-01-01T00:00:00Z")
        value = round(value.timestamp() * 1000)
    understood = isinstance(value, int | str) and not isinstance(value, bool)
    if not understood:
        raise ValueError('neither "earliest", "latest" nor a date-time with zone')
    if isinstance(value, int) and not 0 <= value <= START_MAX:
        raise ValueError("a start is an instant from 1970 to 9999")
    return value


def without_duplicates(values: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ValueError(f"listed twice: {', '.join(twice)}")
    return values


START_MAX = round(datetime(9999, 12, 31, tzinfo=UTC).timestamp() * 1000)
"""Latest start, in milliseconds since 1970; below 0 Kafka's timestamps have special meanings."""

Pattern = Annotated[str, AfterValidator(valid_pattern)]
Patterns = Annotated[tuple[Pattern, ...], AfterValidator(without_duplicates)]
Names = Annotated[tuple[str, ...], AfterValidator(without_duplicates)]
OwnedPath = Annotated[Path, AfterValidator(beside_the_file)]
# A plain int is a timestamp. start_of checks it: Field() would let a bool or a float through.
Start = Annotated[Literal["earliest", "latest"] | int, BeforeValidator(start_of)]

SYNCED_CONFIGS = (
    "cleanup.policy",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
)

# All topic configs of Kafka 3 and 4.
TOPIC_CONFIGS = (
    *SYNCED_CONFIGS,
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "segment.index.bytes",
    "segment.jitter.ms",
    "unclean.leader.election.enable",
)


class Table(BaseModel):
    """Table of the file: unknown keys are mistakes, values never change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TopicSettings(Table):
    """Settings of the [topics] table: which topics are mirrored, and their form on the target."""

    allow: Patterns = (".*",)
    """RE2 patterns: a topic is mirrored when one of these matches its whole name ..."""
    deny: Patterns = ()
    """... and none of these does."""
    refresh_seconds: Float = Field(default=30.0, ge=1, le=3600)
    """Interval of the search for new topics, new partitions and changed configs."""
    replication_factor: Int = Field(default=-1, ge=-1, le=32767)
    """Replication factor of topics created on the target; -1 = the target cluster's own default."""
    start: Start = "earliest"
    """Start of a partition that was never mirrored before: earliest, latest, or milliseconds since
    1970 (in the file: a date-time with zone)."""
    synced_configs: Names = SYNCED_CONFIGS
    """Topic configs carried over from the sources; rules: mirror/topics/topic_configs.py."""
    compact_many_sources: Names = ()
    """Compacted topics that several routes may feed: equal keys of two regions overwrite each other
    there, so each such topic needs this explicit consent."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        raise_if_any(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        if self.replication_factor == 0:
            yield "replication_factor", "0 is no replication; -1 is the target's default"
        if not self.allow:
            yield "allow", 'is empty, so nothing would be mirrored; ".*" allows every topic'
        for config in ("compression.type", "message.timestamp.type"):
            if config in self.synced_configs:
                yield "synced_configs", f"{config} is never synced: the target needs its own value"
        for config in self.synced_configs:
            if config not in TOPIC_CONFIGS:
                near = get_close_matches(config, TOPIC_CONFIGS, n=1, cutoff=0.6)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                yield "synced_configs", f"Kafka knows no topic config {config!r}{hint}"


class ReplicatorSettings(Table):
    """Settings of the [replicator] table: how carriers work."""

    epoch_seconds: Float = Field(default=600.0, ge=1, le=3600)
    """Length of a carrier's epoch, which ends with receipts. A plan takes effect within the epoch
    (decision 0014), or ends it early where it needs other carriers."""
    drain_seconds: Float = Field(default=2.0, ge=0, le=60)
    """Longest wait for outstanding acks at an epoch's end."""
    carriers_per_route: Int = Field(default=0, ge=0, le=1024)
    """Carriers of each route; 0 = Spark's task slots are shared out among the routes."""
    ledger_seconds: Float = Field(default=5.0, ge=0.1, le=600)
    """Longest time between two commits of a ledger entry while a partition moves ..."""
    ledger_mib: Int = Field(default=64, ge=1, le=4096)
    """... and acknowledged MiB of one carrier after which it commits earlier: a takeover must read
    these again. Compared every 50 ms, so a fast carrier exceeds it a little."""
    fetch_mib: Int = Field(default=1, ge=1, le=50)
    """MiB fetched at once per partition."""
    window: Int = Field(default=5, ge=1, le=5)
    """Produce requests in flight per target broker; the broker remembers five batches."""
    word_poll_seconds: Float = Field(default=0.2, ge=0.01, le=10)
    """Interval at which a carrier looks for a driver command: a newer plan, or stop. Commands were
    called words when the setting was named."""
    producer_epoch_max: Int = Field(default=PRODUCER_EPOCH_MAX, ge=10, le=32700)
    """Producer epoch before which a transactional id is rotated."""
    transaction_timeout_ms: Int = Field(default=30000, ge=1000, le=900000)
    """Timeout of ledger transactions; the broker's transaction.max.timeout.ms allows no
    more by default."""
    runs_seconds: Float = Field(default=1.0, ge=0.05, le=60)
    """Interval at which runs are published to the runs topic and to Redis."""
    request_timeout_ms: Int = Field(default=15000, ge=1000, le=300000)
    """Time without an answer after which a broker counts as lost."""
    connections_idle_seconds: Float = Field(default=540.0, ge=10, le=3600)
    """Idle time after which a connection is closed: far below the broker's
    producer.id.expiration.ms (24 h)."""
    merge_below_records: Int = Field(default=32, ge=0, le=100000)
    """Number of records below which a batch is opened and merged with its neighbors, where that is
    cheaper than sending each by itself (replicator/batches/packer.py); 0 = never."""
    open_transaction_seconds: Float = Field(default=120.0, ge=1, le=86400)
    """Time after which an open source transaction is reported: it blocks all records behind it."""
    state_dir: OwnedPath = Field(default=Path("state"), validate_default=True)
    """Directory of what daemons and consoles keep on this host: Spark's scratch files, plans, last
    entries. Relative paths are relative to the configuration file."""
    receipts_dir: OwnedPath = Field(default=Path("receipts"), validate_default=True)
    """Directory of receipts, as Parquet. Relative to the configuration file."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        raise_if_any(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        # An epoch that ends before its drain does would never carry anything.
        if self.drain_seconds >= self.epoch_seconds:
            yield "drain_seconds", f"must be below epoch_seconds ({self.epoch_seconds:g})"
        if self.word_poll_seconds >= self.epoch_seconds:
            yield "word_poll_seconds", f"must be below epoch_seconds ({self.epoch_seconds:g})"
        # After a lost answer, EndTxn is sent again within the timeout of its transaction.
        if self.request_timeout_ms >= self.transaction_timeout_ms:
            yield (
                "request_timeout_ms",
                f"must be below transaction_timeout_ms ({self.transaction_timeout_ms})",
            )


class MetricsSettings(Table):
    """Settings of the [metrics] table: Prometheus metrics, off unless a port is given."""

    port: MetricsPort = 0
    """Metrics port of `sluice replicate`; 0 = off."""
    address: str = "127.0.0.1"


class OffsetsSettings(Table):
    """Settings of the [offsets] table: how `sluice offsets` works."""

    sync_seconds: Float = Field(default=2.0, ge=0.1, le=3600)
    """Interval at which groups that live in another region get their offsets here updated."""
    activity_seconds: Float = Field(default=2.0, ge=0.1, le=5)
    """Interval at which all regions are informed which groups have members here."""
    tend_seconds: Float = Field(default=30.0, ge=1, le=3600)
    """Interval at which other regions' copies of this region's runs are joined and trimmed."""
    metrics_port: MetricsPort = 0
    """Metrics port of `sluice offsets`, at metrics.address; 0 = off."""
