"""Copies, in the target's Redis, of what the source region had committed and mirrored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from balancer.topic_partition import TopicPartition
from replicator.config.names import OWN_PREFIX, runs_topic_name, witness_group
from replicator.config.topology import Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.failover.ledger_view import LedgerView, ledger_view
from replicator.groups.membership.primary_region import regions
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.membership.unmovable_store import UnmovableStore
from replicator.groups.planning.knowledge import (
    GroupProgress,
    Request,
    progress_of,
    vectors_groups,
)
from replicator.kafka.protocol.commit_record import Commit
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.ledger.ledger import groups_of
from replicator.mirror.ledger.ledger_reader import Entries, decoded

LedgerViews = Mapping[Route, Mapping[TopicPartition, LedgerView]]


class SourceCopies:
    """Copies of one source region in one Redis. Blocking; every method raises StoreUnreachable.

    Args:
        routes: the routes into the source region.
        timeout_seconds: for each answer of the Redis.
    """

    def __init__(
        self, url: str, source: str, routes: Iterable[Route], timeout_seconds: float
    ) -> None:
        self._url = url
        self._source = source
        self._routes = tuple(routes)
        self._timeout_seconds = timeout_seconds

    def groups(self) -> list[str]:
        """Returns the groups known to have committed in the source."""
        with self._commit_store() as store:
            return [group for group in store.groups() if not group.startswith(OWN_PREFIX)]

    def age(self, now_ms: int) -> int | None:
        """Returns the age of the oldest copy; everything read afterwards is at least as recent."""
        with self._commit_store() as store:
            ages = [store.age(now_ms)]
        for route in self._routes:
            with RunsCopies(self._url, route.key, timeout_seconds=self._timeout_seconds) as copies:
                ages.append(copies.age(now_ms))
        known = [age for age in ages if age is not None]
        return max(known) if len(known) == len(ages) else None

    def commits(self, request: Request) -> tuple[GroupProgress, dict[str, frozenset[str]]]:
        """Returns commits on the requested topics, and by group the other topics with commits."""
        with self._commit_store() as store:
            found = _rows(store.commits(sorted(request.groups)))
            beside = _rows(store.commits(vectors_groups(found)))
        left_out = {
            group: frozenset({partition.topic for partition in commits} - request.topics)
            for group, commits in found.items()
            if request.topics is not None
        }
        wanted = {
            group: {
                partition: progress
                for partition, progress in of_group.items()
                if request.topics is None or partition.topic in request.topics
            }
            for group, of_group in progress_of(found, beside).items()
        }
        return wanted, {group: topics for group, topics in left_out.items() if topics}

    def ledgers(self, commits: GroupProgress, *, is_whole: bool) -> LedgerViews:
        """Returns the views of the ledgers of the routes into the source.

        Args:
            commits: of the groups; the views are for the partitions of these.
            is_whole: True if a commit that is not in the copies was never made.
        """
        highest: dict[TopicPartition, int] = {}
        for of_group in commits.values():
            for partition, progress in of_group.items():
                highest[partition] = max(highest.get(partition, 0), progress.offset)
        return {
            route: {
                partition: ledger_view(
                    route,
                    partition,
                    entries,
                    untouched_up_to=offset,
                    target_topic=None,
                    is_current=False,
                )
                for partition, offset in highest.items()
            }
            for route, entries in self._entries(highest, is_whole=is_whole).items()
        }

    def unmovable(self) -> dict[str, str] | None:
        """Returns the source's groups that no plan moves, with their types, as last published;
        None: they never were.
        """
        with UnmovableStore(self._url, timeout_seconds=self._timeout_seconds) as store:
            return store.get(self._source)

    def primary_regions(self) -> dict[str, str]:
        """Returns the primary region of each group that has one."""
        with PrimaryStore(self._url, timeout_seconds=self._timeout_seconds) as store:
            return regions(store.all())

    def _entries(
        self, partitions: Collection[TopicPartition], *, is_whole: bool
    ) -> dict[Route, Entries]:
        topics = {partition.topic for partition in partitions}
        with self._commit_store() as store:
            # Witnesses are read after the entries, as in entries_of().
            ledgers = {route: store.commits(groups_of(route)) for route in self._routes}
            witnesses = {
                route: store.commits(witness_group(route.key, topic) for topic in topics)
                for route in self._routes
            }
        found = {}
        for route in self._routes:
            rows = {
                partition: OffsetAndMetadata(commit.offset, commit.metadata)
                for of_group in ledgers[route].values()
                for partition, commit in of_group.items()
                if partition in partitions
            }
            runs = TopicPartition(runs_topic_name(route.key), 0)
            adopted = {}
            for topic in topics:
                witness = witnesses[route][witness_group(route.key, topic)].get(runs)
                if witness or is_whole:
                    adopted[topic] = witness.offset if witness else 0
            found[route] = decoded(rows, adopted)
        return found

    def _commit_store(self) -> CommitStore:
        return CommitStore(self._url, self._source, timeout_seconds=self._timeout_seconds)


def _rows(
    commits: Mapping[str, Mapping[TopicPartition, Commit]],
) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
    return {
        group: {
            partition: OffsetAndMetadata(commit.offset, commit.metadata)
            for partition, commit in of_group.items()
        }
        for group, of_group in commits.items()
    }
