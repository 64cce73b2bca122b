"""Questions about the consumer groups of all regions, and the views that their answers make.

Redis has the primary regions, the members of every region, and the ages of copies. Clusters are
asked for members, commits and log ends, and now and then for decisions: a Redis may be flushed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance
from replicator.groups.membership.activity import FRESH_SECONDS, ActivityStore
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.out_of_place import out_of_place
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, joined
from replicator.groups.membership.primary_store import PrimaryStore, decisions_log
from replicator.groups.membership.unmovable_store import UnmovableStore
from replicator.kafka.protocol.group_list import ListedGroup
from replicator.kafka.tail.stored_positions import Positions
from replicator.runtime.redis_store import RedisStore
from tui.facts.group_view import GroupView, is_application
from tui.facts.part import COPIES, MEMBERS
from tui.facts.totals import largest
from tui.facts.watch.admins import Admins
from tui.facts.watch.group_lags import GroupLag, LagProbe
from tui.facts.watch.kept_client import kept_question
from tui.facts.watch.notice_questions import redis_name
from tui.facts.watch.question import Answers, Key, Question

REDIS_SECONDS = 2.0
CLUSTER_SECONDS = 10.0
DECISIONS_SECONDS = 30.0
MEMBERS_FRESH_SECONDS = 3 * CLUSTER_SECONDS
"""Age above which nothing is known of a region's members."""

Records = Mapping[str, PrimaryRegion]
Active = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """Groups as one region's Redis knows them.

    Args:
        records: of primary regions, by group.
        active: groups with members, by region; a region that published nothing lately is left out.
        copied_up_to_ms: by other region, the time up to which its logs are copied here; None: not
            known.
        decided: other regions whose decisions are copied here in full.
        types: type of each group of another region that no plan moves.
    """

    records: Records
    active: Active
    copied_up_to_ms: Mapping[str, int | None]
    decided: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=dict)


def stored_key(region: str) -> Key:
    return Key(redis_name(region), COPIES)


def members_key(region: str) -> Key:
    return Key(ClusterName.aggregate(region), MEMBERS)


def lags_key(region: str) -> Key:
    return Key(ClusterName.aggregate(region), "group lag")


def decisions_key(region: str) -> Key:
    return Key(ClusterName.aggregate(region), "primary regions")


def group_questions(admins: Admins) -> list[Question]:
    """Returns the questions about groups to all regions' servers; nothing is asked yet."""
    return [
        question
        for region in sorted(admins.appliance.regions)
        for question in _of_region(admins, region)
    ]


def group_fields(appliance: Appliance) -> Callable[[Answers, float], dict[str, object]]:
    """Returns the builder of the snapshot's field `groups`."""
    return lambda answers, now: {"groups": groups_of(appliance, answers, now)}


def _of_region(admins: Admins, region: str) -> list[Question]:
    appliance, timeout_seconds = admins.appliance, admins.timeout_seconds
    name, cluster = ClusterName.aggregate(region), appliance.region(region).aggregate
    groups = Groups(name, cluster, timeout_seconds)
    lags = LagProbe(admins.of(name))
    log = PrimaryLog(name, cluster, timeout_seconds)
    return [
        stored_question(appliance, region, timeout_seconds),
        Question(
            key=members_key(region),
            cadence_seconds=CLUSTER_SECONDS,
            ask=groups.listed,
            cluster=cluster,
        ),
        Question(
            key=lags_key(region),
            cadence_seconds=CLUSTER_SECONDS,
            ask=lambda members: lags.read(filter(is_application, members)),
            needs=(members_key(region),),
            cluster=cluster,
        ),
        Question(
            key=decisions_key(region),
            cadence_seconds=DECISIONS_SECONDS,
            ask=log.read,
            cluster=cluster,
        ),
    ]


def stored_question(appliance: Appliance, region: str, timeout_seconds: float) -> Question:
    """Returns the question to one region's Redis; its answer is a StoredGroups."""
    return kept_question(
        stored_key(region),
        REDIS_SECONDS,
        lambda: _RegionStores(appliance, region, timeout_seconds),
        _RegionStores.read,
    )


class _RegionStores:
    """Stores in one region's Redis, each with its connection."""

    def __init__(self, appliance: Appliance, region: str, timeout_seconds: float) -> None:
        url = appliance.region(region).redis_url()
        self._others = {it: logs_of(appliance, it) for it in appliance.regions if it != region}
        self._primaries = PrimaryStore(url, timeout_seconds=timeout_seconds)
        self._activity = ActivityStore(url, timeout_seconds=timeout_seconds)
        self._ages = CopyAges(url, timeout_seconds=timeout_seconds)
        self._unmovable = UnmovableStore(url, timeout_seconds=timeout_seconds)

    def read(self) -> StoredGroups:
        now_ms = time.time_ns() // 1_000_000
        # Ages first: everything that is read after them is at least as recent.
        copied = {
            source: self._ages.copied_up_to(logs, now_ms) for source, logs in self._others.items()
        }
        decided = {it: self._ages.copied_up_to([decisions_log(it)], now_ms) for it in self._others}
        return StoredGroups(
            self._primaries.all(),
            self._activity.active(now_ms),
            copied,
            frozenset(it for it, at_ms in decided.items() if at_ms is not None),
            dict(
                chain.from_iterable((self._unmovable.get(it) or {}).items() for it in self._others)
            ),
        )

    def close(self) -> None:
        for store in (self._primaries, self._activity, self._ages, self._unmovable):
            store.close()


def groups_of(
    appliance: Appliance, answers: Answers, now: float, names: Iterable[str] = ()
) -> tuple[GroupView, ...] | None:
    """Returns all groups by name; None as long as nothing is known of them.

    Args:
        names: only these groups, each of them even when nothing is known of it; empty: all.
    """
    regions = sorted(appliance.regions)
    stored = [it for region in regions if (it := answers.value(stored_key(region))) is not None]
    listed: list[Mapping[str, ListedGroup]] = [
        it for region in regions if (it := answers.value(members_key(region))) is not None
    ]
    lags: dict[str, Mapping[str, GroupLag]] = {
        region: answers.value(lags_key(region)) or {} for region in regions
    }
    decided = [answers.value(decisions_key(region)) for region in regions]
    sources = [it.records for it in stored] + [it for it in decided if it is not None]
    wanted = set(names)
    if not sources and not listed and not wanted:
        return None
    records = joined(record for some in sources for record in some.values())
    types = {group: type_ for it in stored for group, type_ in it.types.items()}
    types |= {name: group.type for some in listed for name, group in some.items()}
    active = active_by_region(appliance, answers, now)
    unknown = tuple(region for region in regions if region not in active)
    outside = out_of_place(records, active)
    ages = {region: copies_age_of(appliance, answers, region, now) for region in regions}
    oldest = largest(ages.values())
    known = set(records).union(types, *active.values(), *lags.values(), *listed)
    return tuple(
        _view(
            group,
            records.get(group),
            bool(sources),
            tuple(region for region in regions if group in active.get(region, ())),
            unknown,
            {it: lag[group] for it, lag in lags.items() if group in lag},
            ages,
            oldest,
            outside[group].is_twice if group in outside else None,
            types.get(group),
        )
        for group in sorted(wanted or filter(is_application, known))
    )


def _view(
    group: str,
    record: PrimaryRegion | None,
    is_decided: bool,
    members: tuple[str, ...],
    unknown: tuple[str, ...],
    lags: Mapping[str, GroupLag],
    ages: Mapping[str, float | None],
    oldest: float | None,
    is_twice: bool | None,
    type_: str | None,
) -> GroupView:
    """Returns the view of one group.

    Args:
        is_decided: False when nothing is known of records.
        is_twice: None for a group that is in place.
    """
    primary = record.region if record else None
    home = lags.get(primary) if primary else None
    return GroupView(
        group=group,
        primary=primary,
        has_record=record is not None if is_decided else None,
        members=members,
        unknown=unknown,
        is_out_of_place=is_twice is not None,
        is_active_twice=bool(is_twice),
        # Where it has committed nothing, nothing says where it would begin.
        lag={
            it: lag.records
            for it, lag in lags.items()
            if lag.records is not None and lag.partitions
        },
        partitions=home.partitions if home else None,
        topics=tuple(sorted({topic for lag in lags.values() for topic in lag.topics})),
        copies_age_seconds=ages.get(primary) if primary else oldest,
        decided_at_ms=record.at_ms if record else None,
        who=record.who if record else None,
        why=record.why if record else None,
        plan_id=record.plan_id if record else None,
        generation=record.generation if record else None,
        previous=record.previous if record else None,
        type=type_,
    )


def active_by_region(
    appliance: Appliance, answers: Answers, now: float
) -> dict[str, frozenset[str]]:
    """Returns groups with members by region; regions that nothing is known of are left out.

    A cluster's own answer counts before what its region published in a Redis.
    """
    found: dict[str, frozenset[str]] = {}
    for region in appliance.regions:
        listed: Mapping[str, ListedGroup] | None = answers.value(members_key(region))
        asked_at = answers.answer(members_key(region)).asked_at or 0.0
        if listed is not None and now - asked_at <= MEMBERS_FRESH_SECONDS:
            found[region] = frozenset(name for name, it in listed.items() if it.has_members)
            continue
        for holder in appliance.regions:
            kept = answers.answer(stored_key(holder))
            if kept.asked_at is not None and now - kept.asked_at <= FRESH_SECONDS:
                published: Active = kept.value.active
                if region in published:
                    found[region] = published[region]
    return found


def copies_age_of(appliance: Appliance, answers: Answers, source: str, now: float) -> float | None:
    """Returns the age of the oldest copy of a region's logs in the other regions.

    None: not known of one of them, or there is no other region.
    """
    others = [region for region in appliance.regions if region != source]
    return largest(_age(answers, holder, source, now) for holder in others)


def copies_age_in(appliance: Appliance, answers: Answers, holder: str, now: float) -> float | None:
    """Returns the age of the oldest copy of other regions' logs in one region's Redis."""
    others = [region for region in appliance.regions if region != holder]
    return largest(_age(answers, holder, source, now) for source in others)


def _age(answers: Answers, holder: str, source: str, now: float) -> float | None:
    stored: StoredGroups | None = answers.value(stored_key(holder))
    copied_ms = stored.copied_up_to_ms.get(source) if stored else None
    return None if copied_ms is None else max(0.0, now - copied_ms / 1000)


def logs_of(appliance: Appliance, source: str) -> tuple[str, ...]:
    """Returns the logs of a region that a failover out of it needs: its commits, and the runs of
    the routes into it."""
    runs = (f"runs:{route.key}" for route in appliance.routes_into(source))
    return f"commits:{source}", *runs


class CopyAges(RedisStore):
    """Ages in one Redis. Blocking; raises StoreUnreachable."""

    def copied_up_to(self, logs: Iterable[str], now_ms: int) -> int | None:
        """Returns the time up to which all of these logs are copied, in Unix milliseconds.

        None: not known of one of them, or there are none.

        Args:
            now_ms: time before the question.
        """
        ages = [Positions(self._redis, self.name, log).age(now_ms) for log in logs]
        known = [age for age in ages if age is not None]
        return now_ms - max(known) if known and len(known) == len(ages) else None
