"""Loaders' reports and totals in a region's Redis, for `sluice aggregate status` and metrics. Never
the truth.

sluice:loaders:<feed>          expiring values (expiring_values.py): a loader's last reports, a JSON
                               document a line
sluice:loader_totals:<feed>    expiring values: what a loader has counted in its epoch, JSON
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import groupby

from aggregator.loader.loader_counts import LoaderTotals
from aggregator.loader.reports import FeedPartition, LoaderReport, latest
from replicator.runtime import expiring_values
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

log = logging.getLogger(__name__)

EXPIRE_SECONDS = 30
TOTALS_EXPIRE_SECONDS = 600
"""Longer than any interval of scrapes: the counts of a loader that ended are to be seen once."""
MEANWHILE = "loading goes on without it"


class ReportStore(RedisStore):
    """Reports of a region's loaders in Redis. Blocking."""

    def write(self, reports: Iterable[LoaderReport]) -> None:
        """Replaces all reports of the loaders that these are from. Raises StoreUnreachable."""
        by_loader = groupby(sorted(reports, key=_loader), key=_loader)
        texts = {loader: "\n".join(report.to_json() for report in own) for loader, own in by_loader}
        with reached(self.name, MEANWHILE), self._redis.pipeline(transaction=False) as pipeline:
            for (feed, number, cluster), text in texts.items():
                member = f"{number} {cluster}"
                expiring_values.put(pipeline, _index(feed), member, text, EXPIRE_SECONDS * 1000)
            pipeline.execute()

    def write_totals(self, loader_id: str, totals: LoaderTotals) -> None:
        """Replaces what a loader has counted. Raises StoreUnreachable."""
        with reached(self.name, MEANWHILE):
            index, text = _totals_index(totals.feed), totals.to_json()
            expire_ms = TOTALS_EXPIRE_SECONDS * 1000
            expiring_values.put(self._redis, index, loader_id, text, expire_ms)

    def totals(self, feed: str) -> Mapping[str, LoaderTotals]:
        """Returns what the loaders of a feed have counted, by their ids.

        Totals of a loader of another version may have another form: they are left out, and logged.

        Raises StoreUnreachable.
        """
        with reached(self.name, MEANWHILE):
            (texts,) = expiring_values.read(self._redis, [_totals_index(feed)])
        found = {}
        for loader, text in texts.items():
            try:
                found[loader] = LoaderTotals.from_json(text)
            except ValueError as error:
                log.warning("event=metrics-blind feed=%s loader_id=%s: %s", feed, loader, error)
        return found

    def read(self, feed: str) -> dict[FeedPartition, LoaderReport]:
        """Returns the newest report of each partition of a feed.

        Raises StoreUnreachable, or ValueError when another version wrote a report.
        """
        with reached(self.name, MEANWHILE):
            (texts,) = expiring_values.read(self._redis, [_index(feed)])
        lines = (line for text in texts.values() for line in text.splitlines())
        return latest(LoaderReport.from_json(line) for line in lines)


def _loader(report: LoaderReport) -> tuple[str, int, str]:
    return report.feed, report.loader, report.cluster


def _index(feed: str) -> str:
    return f"sluice:loaders:{feed}"


def _totals_index(feed: str) -> str:
    return f"sluice:loader_totals:{feed}"
