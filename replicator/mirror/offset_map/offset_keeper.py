"""Keeper of the runs in a region's Redis: whole, joined, trimmed; `sluice replicate` calls it.

One pass: a route whose runs are not all in Redis (after a flush, a restart, an outage too long for
a carrier) is read back from its runs topic. Then every map is joined into few pieces, and trimmed
where the target's log begins now. Offsets that a map misses in two consecutive passes are read back
at the next pass, and only once. They are missing because a carrier died or stopped with runs that
only the topic had. Where the topic misses them too, answers stay floors.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

from replicator.config.topology import Region, Route
from replicator.kafka.admin.admin_error import AdminError
from replicator.mirror.offset_map.map_maintenance import MapMaintenance
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import BrokenPiece, Piece, UnknownVersion
from replicator.mirror.offset_map.runs_topic import (
    RunsKey,
    RunsTopicMissing,
    RunsTopicUnreadable,
    read,
)
from replicator.mirror.offset_map.spans import Spans
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)

# Route key and runs key.
MapKey = tuple[str, RunsKey]


class OffsetKeeper:
    """Maintains the runs of routes into one region. Blocking: call it in a thread of its own.

    Args:
        maintenance: of the region's maps; None makes one.
        read: reads the runs topic of a route, as runs_topic.read does.
    """

    def __init__(
        self,
        region: Region,
        routes: Iterable[Route],
        *,
        maintenance: MapMaintenance | None = None,
        read: Callable[[Mapping[str, object], str], Iterator[tuple[RunsKey, Piece]]] = read,
    ) -> None:
        self._maintenance = maintenance or MapMaintenance(region)
        self._read = read
        self._options = {
            "bootstrap.servers": region.aggregate.bootstrap_servers,
            **region.aggregate.security.librdkafka_options(),
        }
        self._redis_url = region.redis_url()
        self._routes = tuple(routes)
        self._troubles: dict[str, str] = {}
        self._missing: dict[MapKey, Spans] = {}
        # The part of `_missing` that a read-back was requested for.
        self._requested: dict[MapKey, Spans] = {}

    def keep(self) -> None:
        """Makes one pass over all routes; logs errors that a later pass may find mended."""
        for route in self._routes:
            try:
                with OffsetStore(self._redis_url, route.key) as store:
                    self._read_back(store, route)
                    self._maintain(store, route)
            except (
                AdminError,
                BrokenPiece,
                RunsTopicMissing,
                RunsTopicUnreadable,
                StoreUnreachable,
                UnknownVersion,
            ) as error:
                self._note(route.name, str(error))
            else:
                self._note(route.name, None)

    def _read_back(self, store: OffsetStore, route: Route) -> None:
        reason = store.incomplete_reason()
        if reason is None:
            return
        done = store.rebuild(self._read(self._options, route.key))
        ending = "they are whole" if done else "once more at the next pass"
        logger.info("event=runs-read-back route=%s: %s; %s", route.name, reason, ending)

    def _maintain(self, store: OffsetStore, route: Route) -> None:
        for key, missing, contradiction in self._maintenance.maintain(store):
            name = f"{route.name} {key.topic}-{key.partition}"
            if contradiction:
                self._note(name, f"runs contradict each other: {contradiction}")
            else:
                self._note(name, None)
                self._request_read_back(missing, store, route, key)

    def _request_read_back(
        self, missing: Spans, store: OffsetStore, route: Route, key: RunsKey
    ) -> None:
        """Requests a read-back of runs that the last pass missed too and nobody requested yet."""
        map_key = route.key, key
        before = self._missing.get(map_key, Spans())
        requested = self._requested.get(map_key, Spans()).within(missing)
        # Runs that are only late arrive within a pass.
        lasting = missing.within(before).without(requested)
        if len(lasting):
            store.mark_missed()
            requested = missing
            logger.info(
                "event=runs-missing %s %s-%d: at %d places, first at source offset %d; they will "
                "be read back",
                route.name,
                key.topic,
                key.partition,
                len(lasting),
                next(iter(lasting)).begin,
            )
        self._missing[map_key], self._requested[map_key] = missing, requested

    def _note(self, what: str, trouble: str | None) -> None:
        """Logs a trouble when it begins or changes, and its end; not at every pass."""
        if trouble == self._troubles.get(what):
            return
        if trouble is None:
            del self._troubles[what]
            logger.info("event=runs-kept %s: kept again", what)
        else:
            self._troubles[what] = trouble
            logger.warning("event=runs-not-kept %s: %s", what, trouble)
