"""Configs that the sources of a mirrored topic want on the target.

The values compared are those in effect at each source, whoever set them. Where sources disagree,
the value that keeps more, or accepts more, wins. No region's records then vanish on the target
sooner than at home.

- LARGEST: the largest number; -1 means without limit for retention.
- SUM (retention.bytes): a target partition holds the records of all its sources together.
- POLICIES (cleanup.policy): the policies common to all sources. A source whose policy is empty
  keeps its records for ever, so the target does as well. With none in common (one compacts, one
  deletes): "delete" with unlimited retention, which does neither, until the sources agree.
- UNJUDGED (message.timestamp.before.max.ms and .after.max.ms): without limit. The source's brokers
  have compared each record with their clock when it arrived there. Compared again when it is
  mirrored, after an outage perhaps, a record that the source took would be refused (error 32).
- TAKEN (max.message.bytes and segment.bytes): what the next record of a partition needs, if that
  is more. The source has taken the record, before its own limit was lowered or under that of its
  brokers.
- FIRST: everything else, from the source region that sorts first.

A config that some source sets, on the topic or on its brokers, is wanted whatever the target's own
default. The others are defaults of Kafka: they differ between versions, and what the source means
is wanted where the target has only a default of Kafka as well (followed_configs.py).

compression.type=producer is always set, or the brokers would open every batch and compress it
again. Topics created here get message.timestamp.type=CreateTime, whatever the brokers' default,
because records keep the timestamps they have at the source.

Retention and old timestamps: retention.ms counts from a record's timestamp, not from its arrival. A
record may already be older than the target's retention.ms when it is mirrored, for example in a
first copy of a source that keeps longer. It is then deleted with its segment at a retention check
soon after the segment is rolled: mirrored, then gone. So leave retention.ms in synced_configs;
where the target is to keep longer, set it there: a value that we did not write is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replicator.kafka.admin.topic import RETENTION, UNLIMITED, Configs, number, policies
from replicator.kafka.protocol.error_codes import Code, named

LARGEST = frozenset(
    {
        "delete.retention.ms",
        "file.delete.delay.ms",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "retention.ms",
        "segment.bytes",
        "segment.ms",
    }
)
TAKEN = frozenset({"max.message.bytes", "segment.bytes"})
"""Configs of which each limits the size of a batch that a broker takes."""
UNJUDGED = frozenset({"message.timestamp.after.max.ms", "message.timestamp.before.max.ms"})
LIMIT_MOST_BYTES = (1 << 31) - 1
NO_LIMIT_MS = str((1 << 63) - 1)
ABSENT = "\0"
"""Stands for a value that is not described: an empty value is one."""
ALWAYS = {"compression.type": "producer"}
AT_CREATION = {**ALWAYS, "message.timestamp.type": "CreateTime"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Configs that the sources require of the target topic.

    Args:
        configs: those that some source sets.
        disagreed: configs whose values differ between the sources.
        defaults: the other synced configs, with the value that is in effect at the sources.
    """

    configs: Mapping[str, str]
    disagreed: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)


def wanted(sources: Sequence[Configs], synced: Sequence[str], needs_bytes: int = 0) -> Wanted:
    """Returns the synced configs of a target topic.

    Args:
        sources: the topic's configs, in the order of the source regions' names.
        synced: names of the configs that are carried over.
        needs_bytes: limit of a batch that the next record of a partition needs; 0 for none.
    """
    configs: dict[str, str] = {}
    defaults: dict[str, str] = {}
    disagreed = []
    for name in sorted(synced):
        values = [source.values[name] for source in sources if name in source.values]
        if not values:
            continue
        if name in UNJUDGED:
            configs[name] = NO_LIMIT_MS
            continue
        is_set = any(name in source.changed for source in sources)
        if name in TAKEN and takes_less(values, needs_bytes):
            # In powers of two: a larger record behind this one seldom needs another change.
            configs[name] = str(min(1 << (needs_bytes - 1).bit_length(), LIMIT_MOST_BYTES))
            continue
        (configs if is_set else defaults)[name] = resolved(name, values)
        if is_set and len({canonical(name, value) for value in values}) > 1:
            disagreed.append(name)
    if configs.get("cleanup.policy") == "delete" and not common_policies(sources):
        # Only these two can remove records under "delete"; they replace values synced above.
        configs |= dict.fromkeys(RETENTION, "-1")
        defaults = {name: value for name, value in defaults.items() if name not in RETENTION}
    return Wanted(configs, tuple(disagreed), defaults)


def takes_less(values: Sequence[str], needs_bytes: int) -> bool:
    """Returns True if the largest of the limits is below the size."""
    sizes = [size for value in values if (size := number("", value)) is not None]
    return bool(sizes) and max(sizes) < needs_bytes


def resolved(name: str, values: Sequence[str]) -> str:
    """Returns one value for the target by the rules above; values are not empty."""
    if name == "cleanup.policy":
        each = list(map(policies, values))
        if not all(each):
            return ""
        return ",".join(sorted(frozenset.intersection(*each))) or "delete"
    if name == "retention.bytes":
        return total(values)
    if name in LARGEST:
        known = [(size, value) for value in values if (size := number(name, value)) is not None]
        return max(known)[1] if known else values[0]
    return canonical(name, values[0])


def total(values: Sequence[str]) -> str:
    """Returns the sum of retention.bytes; "-1" when one of them is unlimited, 0 or no number."""
    sizes = [number("retention.bytes", value) or UNLIMITED for value in values]
    return "-1" if UNLIMITED in sizes else str(int(sum(sizes)))


def common_policies(sources: Sequence[Configs]) -> frozenset[str]:
    """Returns the cleanup policies that all sources have."""
    return frozenset.intersection(*(source.policies for source in sources))


def refusing(target: Configs) -> tuple[str, ...]:
    """Returns the names of the errors by which a topic refuses some records for what they are."""
    found = [Code.INVALID_RECORD] if "compact" in target.policies else []
    if any(target.values.get(name, NO_LIMIT_MS) != NO_LIMIT_MS for name in UNJUDGED):
        found.append(Code.INVALID_TIMESTAMP)
    return tuple(map(named, found))


def canonical(name: str, value: str) -> str:
    """Returns one spelling of a value: "delete,compact" becomes "compact,delete"."""
    return ",".join(sorted(policies(value))) if name == "cleanup.policy" else value


def is_same(name: str, one: str, other: str) -> bool:
    """Returns True for two spellings of one value."""
    return canonical(name, one) == canonical(name, other)


def to_change(wanted_configs: Mapping[str, str], target: Configs) -> dict[str, str]:
    """Returns the wanted values that the target does not have in effect."""
    return {
        name: value
        for name, value in wanted_configs.items()
        if not is_same(name, target.values.get(name, ABSENT), value)
    }
