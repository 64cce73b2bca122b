"""Loaders' reports and totals in a region's Redis, for `sluice aggregate status` and metrics. Never
the truth.

sluice:loaders:<feed>:<loader>      JSON lines: a loader's last reports, one a line; expiring
sluice:loader_totals:<feed>:<id>    JSON: what a loader has counted in its epoch; expiring
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from aggregator.loader.reports import FeedPartition, LoaderReport, latest
from aggregator.loader.tally import LoaderTotals
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
        texts = {
            _name(*loader): "\n".join(report.to_json() for report in own)
            for loader, own in by_loader
        }
        with reached(self.name, MEANWHILE), self._redis.pipeline(transaction=False) as pipeline:
            for name, text in texts.items():
                pipeline.set(name, text, ex=EXPIRE_SECONDS)
            pipeline.execute()

    def write_totals(self, loader_id: str, totals: LoaderTotals) -> None:
        """Replaces what a loader has counted. Raises StoreUnreachable."""
        with reached(self.name, MEANWHILE):
            name = _totals_name(totals.feed, loader_id)
            self._redis.set(name, totals.to_json(), ex=TOTALS_EXPIRE_SECONDS)

    def totals(self, feed: str) -> Mapping[str, LoaderTotals]:
        """Returns what the loaders of a feed have counted, by their ids.

        Totals of a loader of another version may have another form: they are left out, and logged.

        Raises StoreUnreachable.
        """
        with reached(self.name, MEANWHILE):
            names = sorted(self._redis.scan_iter(_totals_name(feed, "*"), count=1000))
            texts: Any = self._redis.mget(names) if names else []
        found = {}
        for name, text in zip(names, texts, strict=True):
            loader = name.decode().rpartition(":")[2]
            try:
                if text:
                    found[loader] = LoaderTotals.from_json(text)
            except ValueError as error:
                log.warning("event=metrics-blind feed=%s loader_id=%s: %s", feed, loader, error)
        return found

    def read(self, feed: str) -> dict[FeedPartition, LoaderReport]:
        """Returns the newest report of each partition of a feed.

        Raises StoreUnreachable, or ValueError when another version wrote a report.
        """
        with reached(self.name, MEANWHILE):
            names = sorted(self._redis.scan_iter(_name(feed, "*", "*"), count=1000))
            found: Any = self._redis.mget(names) if names else []
        lines = (line for text in found if text for line in text.splitlines())
        return latest(LoaderReport.from_json(line) for line in lines)


def _loader(report: LoaderReport) -> tuple[str, int, str]:
    return report.feed, report.loader, report.cluster


def _name(feed: str, loader: int | str, cluster: str) -> str:
    return f"sluice:loaders:{feed}:{loader}:{cluster}"


def _totals_name(feed: str, loader_id: str) -> str:
    return f"sluice:loader_totals:{feed}:{loader_id}"
