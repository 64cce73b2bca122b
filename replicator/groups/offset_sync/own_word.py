"""Commits of groups as the brokers of the groups' own region have them, where these answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

from balancer.plan import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.groups.membership.groups import Groups
from replicator.groups.planning.knowledge import Progress
from replicator.groups.progress.vector_metadata import decode
from replicator.kafka.admin.admin_error import AdminError

logger = logging.getLogger(__name__)

ANSWER_SECONDS_MAX = 10.0
"""A request opens connections: some 20 round trips with TLS and SASL."""
QUIET_SECONDS = 30.0
"""Time for which a region that did not answer is not asked again. It is lost, or cut off from here,
and each question costs the pass time.
"""

OwnCommits = Mapping[str, Mapping[TopicPartition, Progress]]


class OwnWord:
    """Commits in another region's aggregate. Blocking, for ANSWER_SECONDS_MAX at most."""

    def __init__(self, region: str, aggregate: KafkaCluster) -> None:
        self._region = region
        self._groups = Groups(f"{region} aggregate", aggregate, ANSWER_SECONDS_MAX)
        self._quiet_until = 0.0
        self._is_silent = False

    def commits(
        self, groups: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> OwnCommits | None:
        """Returns the commits there, by group; None: the region does not answer."""
        if time.monotonic() < self._quiet_until:
            return None
        return self._ask(groups, partitions)

    def _ask(
        self, groups: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> OwnCommits | None:
        try:
            found = self._groups.commits(groups, partitions)
        except AdminError as trouble:
            self._quiet_until = time.monotonic() + QUIET_SECONDS
            self._say(trouble)
            return None
        self._say(None)
        return {
            group: {
                partition: Progress(it.offset, decode(it.metadata))
                for partition, it in some.items()
            }
            for group, some in found.items()
        }

    def _say(self, trouble: AdminError | None) -> None:
        if (trouble is not None) == self._is_silent:
            return
        self._is_silent = trouble is not None
        if trouble:
            logger.warning(
                "event=own-commits-unseen region=%s copies of its commits are believed unchecked: "
                "%s",
                self._region,
                trouble,
            )
        else:
            logger.warning("event=own-commits-seen region=%s", self._region)
