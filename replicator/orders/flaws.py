"""Flaws of records: contents that neither our order commands nor our balancer write.

Every client with write permission can write to the topic. A flawed record is left out when it is
read, and refused before it is written. If applied, it would stop the driver or the balancer of the
region.
"""

from __future__ import annotations

from collections import Counter

from pydantic import ValidationError

from balancer.decision.settings import CARRIERS_MAX
from replicator.config.balance_settings import RouteBalance
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_contradictions import name_flaw as feed_name_flaw
from replicator.config.settings import valid_pattern
from replicator.config.topology import REGION_NAME, REGION_NAME_CHARACTERS_MAX
from replicator.orders.order_records import (
    DEFAULT_STREAM,
    AnyRecord,
    FeedOrder,
    Freeze,
    Placed,
    SkipReplay,
    Stream,
    first_mistake,
)


def flaw(record: AnyRecord) -> str | None:
    """Returns the first flaw of a record, with the name of the field, or None."""
    match record:
        case Stream():
            return _of_stream(record)
        case Placed():
            return _of_placement(record)
        case FeedOrder():
            return _of_feed_order(record)
    return None


def name_flaw(name: str) -> str | None:
    """Returns the flaw of a named stream's name, or None."""
    if name == DEFAULT_STREAM:
        return f"{DEFAULT_STREAM!r} is the stream of all other topics; take another name"
    if not REGION_NAME.fullmatch(name):
        return "a stream's name consists of lower-case letters, digits and -"
    if len(name) > REGION_NAME_CHARACTERS_MAX:
        return f"a stream's name has at most {REGION_NAME_CHARACTERS_MAX} characters"
    return None


def pattern_flaw(pattern: str) -> str | None:
    """Returns the flaw of one topic pattern of a stream, or None."""
    if not pattern:
        return "an empty pattern matches no topic"
    try:
        valid_pattern(pattern)
    except ValueError as error:
        return str(error)
    return None


def _of_stream(stream: Stream) -> str | None:
    if wrong := name_flaw(stream.name):
        return f"name: {wrong}"
    if not stream.topics:
        return "topics: there is no pattern"
    for pattern in stream.topics:
        if wrong := pattern_flaw(pattern):
            return f"topics: {pattern!r}: {wrong}"
    if stream.first_carrier == 0 or stream.first_carrier % CARRIERS_MAX:
        return f"first_carrier: {stream.first_carrier} is not a positive multiple of {CARRIERS_MAX}"
    limits = {name: getattr(stream, name) for name in RouteBalance.model_fields}
    try:
        RouteBalance.model_validate({name: it for name, it in limits.items() if it is not None})
    except ValidationError as error:
        return first_mistake(error)
    return None


def _of_placement(placed: Placed) -> str | None:
    if not placed.carriers:
        return "carriers: there is none"
    if len(set(placed.carriers)) < len(placed.carriers):
        return "carriers: one number is there twice"
    if min(placed.carriers) // CARRIERS_MAX != max(placed.carriers) // CARRIERS_MAX:
        return "carriers: the numbers belong to more than one stream"
    unknown = sorted(placed.topics.keys() - set(placed.carriers))
    if unknown:
        return f"topics: carrier {unknown[0]} is not among the carriers"
    counts = Counter(
        (topic, number)
        for topics in placed.topics.values()
        for topic, numbers in topics
        for number in numbers
    )
    twice = next((partition for partition, count in counts.items() if count > 1), None)
    return f"topics: {twice[0]}-{twice[1]} is there twice" if twice else None


def _of_feed_order(order: FeedOrder) -> str | None:
    if wrong := feed_name_flaw(order.feed):
        return f"route: {wrong}"
    texts = order.model_dump(include={"cluster", "topic", "table"})
    empty = next((name for name, text in texts.items() if text == ""), None)
    if empty:
        return f"{empty}: is empty"
    try:
        ClusterName(texts.get("cluster") or ClusterName.regional("any"))
    except ValueError as error:
        return f"cluster: {error}"
    match order:
        case Freeze(topic=None, partition=int()):
            return "partition: names no topic"
        case SkipReplay() if order.begin >= order.end:
            return f"end: {order.end} is not behind begin ({order.begin})"
    return None
