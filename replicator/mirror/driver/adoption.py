"""Adoption: the ledger's first entries for partitions that no route has ever carried.

All configured routes into a topic are adopted at once, while its partitions in the target are still
empty. From then on a missing entry means that the ledger has lost it, and carriers stop that
partition. A partition that is neither adopted nor empty may be such a loss as well: it waits for
the operator's consent.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.kafka.admin.admin import Admin, PartitionOffsets
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter, OffsetRows
from replicator.kafka.client.progress_expiry import ProgressExpiry, age_seconds, read_expiry
from replicator.mirror.ledger.entry import Begin, Custody, Entry
from replicator.mirror.ledger.ledger import Ledger, virgin
from replicator.mirror.ledger.sightings import Sightings
from replicator.mirror.topics.topic_plan import Carried
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import Driver

log = logging.getLogger(__name__)

# A transaction of so many topics stays far below its timeout.
TOPICS_PER_TRANSACTION = 50
# At most; sooner where the target forgets sooner.
RENEW_SECONDS = 6 * 3600.0


Begins = Callable[[Route, str, int], Mapping[int, tuple[int, UUID | None]]]


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """A topic of a route, whose partitions 0..partitions-1 must have entries."""

    route: Route
    topic: str
    partitions: int


class RenewalWatch:
    """Ages of entries, from their sightings and from how long they have not changed.

    A carrier commits the entries that it holds about once a minute, with other sightings.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Route, TopicPartition], tuple[Entry, Sightings, float]] = {}
        self._renewed: dict[tuple[Route, TopicPartition], float] = {}

    def due(
        self,
        route: Route,
        entries: Mapping[TopicPartition, Entry],
        expiry: ProgressExpiry,
        *,
        now: float,
        now_ms: int,
    ) -> dict[str, dict[TopicPartition, Entry]]:
        """Returns the entries that nobody has renewed, by the transactional id that they name.

        Args:
            now: on a monotonic clock, in seconds.
            now_ms: Unix time.
        """
        found: dict[str, dict[TopicPartition, Entry]] = {}
        for place, entry in entries.items():
            key = route, place
            before, seen, since = self._seen.get(key, (entry, entry.seen, now))
            if (before, seen) != (entry, entry.seen):
                since = now
                self._renewed.pop(key, None)
            self._seen[key] = entry, entry.seen, since
            if key in self._renewed:
                age = now - self._renewed[key]
            else:
                sighted_ms = entry.seen[-1].last_ms if entry.seen else 0
                age = age_seconds(sighted_ms, now_ms, now - since)
            is_held = entry.custody is Custody.HELD and not entry.parked
            if entry.transactional_id and expiry.is_due(age, is_held=is_held):
                found.setdefault(entry.transactional_id, {})[place] = entry
        return found

    def renewed(self, route: Route, places: Iterable[TopicPartition], now: float) -> None:
        """Notes that entries were committed again as they were."""
        self._renewed |= {(route, place): now for place in places}


class Adoption:
    """Adopts new partitions, and renews the commits that no carrier renews.

    These are the witnesses, and the entries of partitions that nobody carries: they are paused,
    parked, or not in their source yet, or their source is down.

    Args:
        cluster, admin: clients of the target.
        driver: the leading one; its transactions carry the entries.
        routes: all configured routes into the target.
        trusting: routes whose partitions are adopted although they are not empty, with the
            operator's consent.
        renew_seconds: longest pause between two renewals.
        conditions: where topics that are not adopted are noted.
        begins: returns where partitions of a route and topic begin that the route begins with;
            blocking. None: their first carriers decide, as topics.start is not "latest".
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        admin: Admin,
        driver: Driver,
        routes: Iterable[Route],
        trusting: Collection[Route] = (),
        renew_seconds: float = RENEW_SECONDS,
        conditions: Conditions | None = None,
        begins: Begins | None = None,
    ):
        self._cluster = cluster
        self._admin = admin
        self._driver = driver
        self._ledgers = {route: Ledger(cluster, route) for route in routes}
        self._trusting = frozenset(trusting)
        self._adopted: dict[tuple[Route, str], int] = {}
        self._refusals = ReportOnce()
        self._conditions = conditions or Conditions("driver")
        self._refused: dict[Subject, str] = {}
        self._begins = begins
        self._known_begins: dict[tuple[Route, str], Mapping[int, Begin]] = {}
        self._renew_seconds = renew_seconds
        self._renewed_at = float("-inf")
        self._expiry = ProgressExpiry()
        self._watch = RenewalWatch()

    @property
    def renewal_seconds(self) -> float:
        """Longest time between two commits of what the driver holds."""
        return min(self._renew_seconds, self._expiry.renewal_seconds)

    async def adopt(self, carried: Iterable[Carried]) -> None:
        """Adopts what is new; returns once everything that may be carried has its entries.

        Raises:
            Fenced: a newer driver leads.
            AdminError: the target does not tell how long its logs are.
        """
        all_claims = claims(self._ledgers, carried)
        if time.monotonic() - self._renewed_at > self.renewal_seconds:
            self._adopted.clear()
            self._expiry = await read_expiry(self._cluster)
            await self._renew(all_claims)
            self._renewed_at = time.monotonic()
        todo = [
            claim
            for claim in all_claims
            if self._adopted.get((claim.route, claim.topic), 0) < claim.partitions
        ]
        self._refused = {}
        for at in range(0, len(todo), TOPICS_PER_TRANSACTION):
            await self._adopt(todo[at : at + TOPICS_PER_TRANSACTION])
        self._conditions.replace(Kind.NOT_ADOPTED, self._refused)

    async def _renew(self, some: Sequence[Claim]) -> None:
        """Commits entries again that no carrier renews: those that are adopted, released, parked,
        or whose holder has died. Witnesses are renewed by adopting again."""
        for route, ledger in self._ledgers.items():
            places = [
                TopicPartition(claim.topic, number)
                for claim in some
                if claim.route == route
                for number in range(claim.partitions)
            ]
            entries = await ledger.read(places)
            now, now_ms = time.monotonic(), time.time_ns() // 1_000_000
            due = self._watch.due(route, entries, self._expiry, now=now, now_ms=now_ms)
            for transactional_id, entries in due.items():
                try:
                    # Custody: only the holder of the id may replace entries, and only those it
                    # reads then.
                    holder = await FencedCommitter(self._cluster, transactional_id).open()
                    found = await ledger.read_as_holder(holder, entries)
                    same = {place: it for place, it in entries.items() if found.get(place) == it}
                    if same:
                        await ledger.replace(holder, same, same)
                        self._watch.renewed(route, same, time.monotonic())
                except Answered as error:
                    # A carrier is acquiring some of them, and renews them; or a topic was deleted.
                    log.info("event=not-renewed route=%s: %s", route, error)

    async def _adopt(self, some: Sequence[Claim]) -> None:
        seen = await asyncio.gather(*(self._look(claim) for claim in some))
        places = {place for _, unseen, _ in seen for place in unseen}
        ends: PartitionOffsets = (
            await run_in_thread(self._admin.offsets, places, "latest") if places else {}
        )
        entries: list[Mapping[str, OffsetRows]] = []
        witnesses: list[Mapping[str, OffsetRows]] = []
        counts: dict[tuple[Route, str], int] = {}
        for claim, (count, unseen, known) in zip(some, seen, strict=True):
            route, topic = claim.route, claim.topic
            found = adoptable(unseen, known, ends, trusting=route in self._trusting)
            # A partition whose log end is not known waits, and is not logged.
            if len(found) < len(unseen) and unseen[len(found)] in ends:
                self._refuse(claim, unseen[len(found)])
            counts[route, topic] = count + len(found)
            ledger = self._ledgers[route]
            new = [place for place in found if place not in known]
            begins = await self._beginnings(claim, count) if new else {}
            entries.append(
                ledger.offsets({p: virgin(ledger, ends[p], begins.get(p.partition)) for p in new})
            )
            # Also if nothing is new: every driver that begins renews the witnesses.
            if counts[route, topic]:
                witnesses.append(ledger.witness(topic, counts[route, topic]))
            if new:
                log.info("event=adopted route=%s topic=%s partitions=%d", route, topic, len(new))
        # In this order: a witness without its entry means that the ledger has lost it.
        for commits in (entries, witnesses):
            await self._driver.commit(merged(commits))
        self._adopted |= counts

    async def _look(
        self, claim: Claim
    ) -> tuple[int, list[TopicPartition], Collection[TopicPartition]]:
        """Returns the number of adopted partitions, the others, and the others with an entry."""
        ledger = self._ledgers[claim.route]
        count = await ledger.witnessed(claim.topic)
        unseen = [TopicPartition(claim.topic, n) for n in range(count, claim.partitions)]
        return count, unseen, await ledger.read(unseen) if unseen else ()

    async def _beginnings(self, claim: Claim, count: int) -> Mapping[int, Begin]:
        """Returns where partitions begin, by number; one that is left out is not decided here.

        "latest" is the moment at which the topic was first adopted.

        Args:
            count: number of partitions that were adopted before.
        """
        if self._begins is None:
            return {}
        key = claim.route, claim.topic
        if not count:
            found = await run_in_thread(self._begins, *key, claim.partitions)
            self._known_begins[key] = {number: Begin(*it) for number, it in found.items()}
        return beginnings(self._known_begins.get(key, {}), count, claim.partitions)

    def _refuse(self, claim: Claim, place: TopicPartition) -> None:
        why = (
            "the target holds records but the ledger knows none of this route's; if none were ever "
            f"mirrored, start once with --adopt {claim.route}"
        )
        self._refused[Subject(claim.route.name, topic=place.topic, partition=place.partition)] = why
        if self._refusals.is_news(claim):
            log.error(
                "event=not-adopted route=%s topic=%s from_partition=%d: %s",
                claim.route,
                *place,
                why,
            )


def claims(routes: Iterable[Route], carried: Iterable[Carried]) -> list[Claim]:
    """Returns a claim of every route on every topic carried by any route.

    A source that gets the topic later finds its entries there, made while the target was known to
    be empty.
    """
    largest: dict[str, int] = {}
    for each in carried:
        largest[each.topic] = max(each.partitions, largest.get(each.topic, 0))
    return [
        Claim(route, topic, partitions)
        for route in sorted(routes)
        for topic, partitions in sorted(largest.items())
    ]


def beginnings(at_first: Mapping[int, Begin], adopted: int, partitions: int) -> Mapping[int, Begin]:
    """Returns where partitions begin, by number; all of what was added later is carried.

    Args:
        at_first: those decided at the first adoption, some of which may have had to wait.
        adopted: number of partitions that were adopted before.
    """
    later = range(adopted, partitions) if adopted else ()
    return {**dict.fromkeys(later, Begin(0)), **at_first}


def adoptable(
    unseen: Sequence[TopicPartition],
    known: Collection[TopicPartition],
    ends: PartitionOffsets,
    *,
    trusting: bool,
) -> list[TopicPartition]:
    """Returns the first partitions of `unseen` that may be adopted, up to one that may not.

    A witness is a count from partition 0 on, so none can be left out.

    Args:
        unseen: partitions without a witness, in order.
        known: the part of `unseen` that has an entry all the same.
        ends: a partition whose log end is not in it waits.
        trusting: adopts partitions that are not empty, too.
    """

    def may(place: TopicPartition) -> bool:
        end = ends.get(place)
        return place in known or end == 0 or (trusting and end is not None)

    return list(takewhile(may, unseen))


def merged(commits: Iterable[Mapping[str, OffsetRows]]) -> dict[str, OffsetRows]:
    """Returns the offsets of several commits as one commit, by group."""
    groups: dict[str, list[tuple[str, int, int, str]]] = {}
    for commit in commits:
        for group, offsets in commit.items():
            groups.setdefault(group, []).extend(offsets)
    return dict(groups)
