"""Commits of groups as the brokers of the groups' own region have them, where these answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from balancer.topic_partition import TopicPartition
from replicator.groups.membership.groups import Groups
from replicator.groups.planning.knowledge import GroupProgress, progress_of, vectors_groups
from replicator.kafka.admin.admin_error import AdminError
from replicator.runtime.clock import monotonic

logger = logging.getLogger(__name__)

ANSWER_SECONDS_MAX = 10.0
"""A request opens connections: some 20 round trips with TLS and SASL."""
QUIET_SECONDS = 30.0
"""Time for which a region that did not answer is not asked again. It is lost, or cut off from here,
and each question costs the pass time.
"""


class RegionCommits:
    """Commits in another region's aggregate. Blocking, as long as its client waits for an answer.

    Args:
        groups: of that aggregate.
        clock: seconds of a monotonic clock.
    """

    def __init__(self, region: str, groups: Groups, clock: Callable[[], float] = monotonic) -> None:
        self._region = region
        self._groups = groups
        self._clock = clock
        self._quiet_until = float("-inf")
        self._is_silent = False

    def commits(
        self, groups: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> GroupProgress | None:
        """Returns the commits there, by group; None: the region does not answer."""
        if self._clock() < self._quiet_until:
            return None
        try:
            asked = list(partitions)
            found = self._groups.commits(groups, asked)
            beside = self._groups.commits(vectors_groups(found), asked)
        except AdminError as error:
            self._quiet_until = self._clock() + QUIET_SECONDS
            if not self._is_silent:
                logger.warning(
                    "event=own-commits-unseen region=%s copies of its commits are used unchecked: "
                    "%s",
                    self._region,
                    error,
                )
            self._is_silent = True
            return None
        if self._is_silent:
            logger.warning("event=own-commits-seen region=%s", self._region)
        self._is_silent = False
        return progress_of(found, beside)
