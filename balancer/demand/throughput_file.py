"""Throughput file: rates in the format of Brooklin's file-based provider.

    {"stats": {"cluster": {"Topic-0": "bytesInKB:15, msgIn:39", "Topic": "bytesInKB:4, msgIn:10"}}}

Some files spell it bytesInKb. A kilobyte is 1024 bytes. A name that ends in a hyphen and a number
is the name of a partition. Any other name is the name of a topic, and gives the rate of each of its
partitions. The name `a-0` can mean a topic or partition 0 of topic `a`: it means the topic when a
topic of that name exists.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition

_PARTITION = re.compile(r"(?P<topic>.+)-(?P<number>0|[1-9][0-9]{0,8})")
_STATS = re.compile(r"\s*bytesInK[Bb]\s*:\s*(?P<kib>[^,]*),\s*msgIn\s*:\s*(?P<records>[^,]*)")
_NUMBER = re.compile(r"\s*[0-9]{1,18}(\.[0-9]{1,9})?\s*")
RATE_MAX = 1e12
"""Bytes or records a second that no partition exceeds."""


class BadThroughput(ValueError):
    """The file is malformed. The message names the entry, and no entry of the file is used."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates that a file gives for one cluster."""

    partitions: dict[TopicPartition, Rate] = field(default_factory=dict)
    topics: dict[str, Rate] = field(default_factory=dict)
    """Rate of each partition of the topic."""

    def rate(self, partition: TopicPartition) -> Rate | None:
        """Returns the rate of the partition, or else of its topic; None when there is neither."""
        return self.partitions.get(partition) or self.topics.get(partition.topic)


def read(text: str, cluster: str, topics: Collection[str]) -> Throughput:
    """Returns the rates that the text of a file gives for a cluster.

    Args:
        text: content of the file, in JSON.
        cluster: name of the source in the file.
        topics: names of the topics that exist at the source.

    Raises:
        BadThroughput: the text is not JSON, has no such cluster, or an entry is malformed.
    """
    try:
        stats = json.loads(text, object_pairs_hook=_once)["stats"][cluster]
        entries = dict(stats.items())
    except BadThroughput:
        raise
    except (ValueError, RecursionError) as error:
        raise BadThroughput(f"not JSON: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise BadThroughput(f'it has no {{"stats": {{"{cluster}": {{...}}}}}}') from None
    found = Throughput()
    for name, written in entries.items():
        rate = _rate(name, written)
        match = _PARTITION.fullmatch(name)
        if match and name not in topics:
            found.partitions[TopicPartition(match["topic"], int(match["number"]))] = rate
        else:
            found.topics[name] = rate
    return found


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise BadThroughput(f"{name} appears {times} times")
    return dict(pairs)


def _rate(name: str, written: object) -> Rate:
    match = _STATS.fullmatch(written) if isinstance(written, str) else None
    if not match:
        raise BadThroughput(f'{name}: {written!r} is not like "bytesInKB:15, msgIn:39"')
    for number in (match["kib"], match["records"]):
        if not _NUMBER.fullmatch(number):
            raise BadThroughput(f"{name}: {number.strip()!r} is not a number of 0 or more")
    rate = Rate(float(match["kib"]) * 1024, float(match["records"]))
    if max(rate) > RATE_MAX:
        raise BadThroughput(f"{name}: {max(rate):g} a second is more than any partition has")
    return rate
