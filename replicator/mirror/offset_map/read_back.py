"""Exact read-back of a route's maps from its runs topic into its target's Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from replicator.config.cluster_name import ClusterName
from replicator.config.names import runs_topic_name
from replicator.config.topology import Region, Route
from replicator.kafka.admin.admin import Admin
from replicator.mirror.offset_map import runs_topic
from replicator.mirror.offset_map.map_maintenance import MaintainedMap, MapMaintenance
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import Piece
from replicator.mirror.offset_map.runs_topic import RunsKey

# The daemon may read back at the same time; then only the rebuild that began last sets the mark.
ATTEMPTS_MAX = 3
PIECES_PER_PROGRESS = 500

Progress = Callable[[int, int], None]
"""Called with the pieces read so far, and how many there were at first."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """State of a route's maps in Redis after a read-back.

    Args:
        trouble: why Redis may lack published runs; None: it has all of them.
    """

    route: str
    partitions: int
    runs: int
    records: int
    trouble: str | None

    @property
    def is_complete(self) -> bool:
        return self.trouble is None


def read_back(
    region: Region, route: Route, progress: Progress, *, timeout_seconds: float = 60.0
) -> ReadBack:
    """Reads the maps of a route into the region back; only adds, so carriers go on meanwhile.

    Raises RunsTopicMissing, RunsTopicUnreadable, UnknownVersion, AdminError or StoreUnreachable.
    """
    options = {
        "bootstrap.servers": region.aggregate.bootstrap_servers,
        **region.aggregate.security.librdkafka_options(),
        "log_level": 0,
    }
    # Raises AdminError for an unreachable cluster, before the topic is called unreadable.
    Admin(ClusterName.aggregate(region.name), region.aggregate, timeout_seconds).topics(
        [runs_topic_name(route.key)]
    )
    with OffsetStore(region.redis_url(), route.key) as store:
        for _ in range(ATTEMPTS_MAX):
            whole = runs_topic.messages(options, route.key, timeout_seconds)
            published = runs_topic.read(options, route.key, timeout_seconds)
            done = store.rebuild(_counted(published, whole, progress))
            if done or store.incomplete_reason() is None:
                break
        # The topic also restored runs that had been trimmed; they are trimmed again.
        maintained = MapMaintenance(region).maintain(store)
        trouble = store.incomplete_reason() or _first_trouble(maintained)
        sound = [each.key for each in maintained if each.contradiction is None]
        counts = [store.load(key).piece().counts for key in sound]
    runs, records = sum(map(len, counts)), sum(int(each.sum()) for each in counts)
    return ReadBack(route.name, len(maintained), runs, records, trouble)


def _counted(
    published: Iterator[tuple[RunsKey, Piece]], whole: int, progress: Progress
) -> Iterator[tuple[RunsKey, Piece]]:
    progress(0, whole)
    for count, each in enumerate(published, 1):
        yield each
        if count % PIECES_PER_PROGRESS == 0:
            progress(count, whole)
    progress(whole, whole)


def _first_trouble(maintained: Iterable[MaintainedMap]) -> str | None:
    for key, missing, contradiction in maintained:
        partition = f"{key.topic}-{key.partition}"
        if contradiction:
            return f"{partition}: runs contradict each other: {contradiction}"
        if len(missing):
            first = next(iter(missing)).begin
            places = f"{len(missing)} places, first at source offset {first}"
            return f"{partition}: misses runs at {places}"
    return None
