"""Loaders' reports in a region's Redis, for `sluice aggregate status`. Never the truth.

sluice:loaders:<feed>:<loader>    JSON lines: a loader's last reports, one a line; expiring
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from aggregator.loader.reports import FeedPartition, LoaderReport, latest
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

EXPIRE_SECONDS = 30
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
