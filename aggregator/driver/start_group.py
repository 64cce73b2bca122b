"""Start of a feed at the committed offsets of a consumer group, whose consumers it replaces.

    start = "group:connect-lake"

A partition without a commit of the group begins at its earliest record, as in a sink of Kafka
Connect. Members of the group would go on committing, and a group without any commit is a wrong
name: until that is mended the feed adopts no partitions.
"""

from __future__ import annotations

from collections.abc import Collection

from balancer.topic_partition import TopicPartition
from replicator.kafka.admin.group_members import GroupMembers
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.committed_entries import read_commits
from replicator.runtime.run_in_thread import run_in_thread


class StartWaits(Exception):
    """Partitions that cannot be adopted yet. The message says why, and the mend."""


async def group_offsets(
    group: str,
    cluster: Cluster,
    members: GroupMembers,
    places: Collection[TopicPartition],
    *,
    is_first: bool,
) -> dict[TopicPartition, int]:
    """Returns the offsets that a group has committed for partitions, as far as there are any.

    Args:
        is_first: the feed has adopted nothing in this cluster so far. Later the commits of a group
            that is no longer used may have expired.

    Raises:
        StartWaits: the group has members, or a wrong name.
        AdminError, Answered, Unreachable: it is not known.
    """
    if await run_in_thread(members.active, [group]):
        raise StartWaits(f"group {group} has members; stop its consumers")
    found = await read_commits(cluster, lambda _: group, places)
    if is_first and not found:
        text = f"group {group} has committed nothing for these topics; correct its name in `start`"
        raise StartWaits(text)
    return {place: commit.offset for place, commit in found.items()}
