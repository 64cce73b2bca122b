"""Known runs: runs that were published for partitions since their ledger entries were committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.stale_entry import PublishedRun
from replicator.mirror.offset_map.runs_tail import RunsTail
from replicator.mirror.offset_map.runs_topic import RunsKey


async def published_since(
    runs: RunsTail, entries: Mapping[TopicPartition, Entry]
) -> dict[TopicPartition, PublishedRun]:
    """Returns the last published run of each partition whose entry names runs topic positions."""
    positioned = {partition: entry for partition, entry in entries.items() if entry.runs}
    if not positioned:
        await runs.look()
        return {}
    earliest = tuple(map(min, zip(*(entry.runs for entry in positioned.values()), strict=False)))
    newest: dict[RunsKey, PublishedRun] = {}
    for key, run in (await runs.published_since(earliest)).items():
        known = newest.get(key.without_losses)
        if known is None or key.losses > known.losses:
            newest[key.without_losses] = PublishedRun(run, key.losses)
    return {
        partition: published
        for partition, entry in positioned.items()
        if (published := newest.get(runs_key(partition, entry).without_losses))
    }


def runs_key(partition: TopicPartition, entry: Entry) -> RunsKey:
    """Returns the key of runs: the partition between the two topic ids of its entry."""
    source, target = (t.hex if t else "" for t in (entry.source_topic, entry.target_topic))
    return RunsKey(partition.topic, partition.partition, source, target, entry.losses)


def losses_after(published: Iterable[RunsKey], key: RunsKey, at_least: int) -> int:
    """Returns a number of losses under which runs overrule all that were published before.

    Args:
        published: keys of the runs topic.
        key: of the partition; its own number of losses does not count.
        at_least: the number where no more were published.
    """
    earlier = (it.losses for it in published if it.without_losses == key.without_losses)
    return max([at_least, *(losses + 1 for losses in earlier)])
