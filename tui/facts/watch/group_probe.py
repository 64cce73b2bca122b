"""Probe for consumer groups: asks one region's servers for primary regions and for members.

The region's Redis has reports of other regions' members, and copies of their decisions. A region
without a current report or a complete copy is asked directly, so a lost region costs a timeout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.kafka.admin.listening import check_listening
from replicator.kafka.protocol.group_list import ListedGroup
from tui.facts.group_view import GroupList
from tui.facts.watch.group_questions import (
    StoredGroups,
    active_by_region,
    decisions_key,
    groups_of,
    members_key,
    stored_key,
    stored_question,
)
from tui.facts.watch.look import look
from tui.facts.watch.question import Key, Question


def probed_groups(
    appliance: Appliance,
    region: str,
    timeout_seconds: float,
    names: Iterable[str] = (),
    redis: Question | None = None,
) -> GroupList:
    """Returns the groups known in a region, except Sluice's own (prefix `sluice.`). Blocking.

    Takes the timeout at the longest. An unreachable server is a problem, not an exception.

    Args:
        names: only these groups, each of them even when nothing is known of it; empty: all.
        redis: question to the region's Redis; None: the one that it is always asked.

    Raises UnknownRegion.
    """
    began = time.time()
    stored = redis or stored_question(appliance, region, timeout_seconds)
    probe = _Probe(appliance, region, timeout_seconds, stored)
    answers = look(probe.questions(), timeout_seconds)
    active = active_by_region(appliance, answers, began)
    problems: dict[str, str] = {}
    for key, answer in answers.by_key.items():
        if answer.problem is not None:
            problems.setdefault(key.server, answer.problem)
    return GroupList(
        region=region,
        groups=groups_of(appliance, answers, began, names) or (),
        silent_regions=tuple(it for it in appliance.regions if it not in active),
        problems=tuple(dict.fromkeys(problems.values())),
    )


class _Probe:
    """Questions of one probe; those about other regions look at what the Redis has told."""

    def __init__(
        self, appliance: Appliance, region: str, timeout_seconds: float, redis: Question
    ) -> None:
        self._appliance, self._region = appliance, region
        self._timeout_seconds = timeout_seconds
        self._redis = redis
        self._told: StoredGroups | None = None

    def questions(self) -> Iterator[Question]:
        """Yields the question to the region's Redis, then those to the clusters."""
        yield replace(self._redis, ask=self._ask_redis)
        for region in self._appliance.regions:
            name, cluster = ClusterName.aggregate(region), self._appliance.region(region).aggregate
            groups = Groups(name, cluster, self._timeout_seconds)
            log = PrimaryLog(name, cluster, self._timeout_seconds)
            listed = groups.listed if region == self._region else partial(_with_members, groups)
            yield self._question(region, members_key(region), partial(_is_reported, region), listed)
            yield self._question(
                region, decisions_key(region), partial(_is_copied, region), log.read
            )

    def _ask_redis(self) -> StoredGroups:
        found: StoredGroups = self._redis.ask()
        # Its own region is asked directly: this Redis may lag behind it.
        others = {it: some for it, some in found.active.items() if it != self._region}
        self._told = replace(found, active=others)
        return self._told

    def _question(
        self,
        region: str,
        key: Key,
        is_told: Callable[[StoredGroups], bool],
        ask: Callable[[], Mapping[str, object]],
    ) -> Question:
        """Returns the question to a region's aggregate; its answer is None where Redis has it."""

        def asked() -> Mapping[str, object] | None:
            if self._told is not None and is_told(self._told):
                return None
            check_listening(key.server, self._appliance.region(region).aggregate)
            return ask()

        # Redis may still tell within a part of the timeout.
        redis = (stored_key(self._region),)
        return Question(key=key, cadence_seconds=0.0, ask=asked, waits_for=redis)


def _with_members(groups: Groups) -> dict[str, ListedGroup]:
    """Returns the groups that have members: of another region, no others are of interest."""
    return {name: group for name, group in groups.listed().items() if group.has_members}


def _is_reported(region: str, told: StoredGroups) -> bool:
    return region in told.active


def _is_copied(region: str, told: StoredGroups) -> bool:
    return region in told.decided
