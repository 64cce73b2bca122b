"""Verdicts of audits in the target region's Redis: the last ones of each route.

sluice:audits:<route>    list, the newest first, AUDITS_KEPT at most: JSON of a KeptAudit
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter

from replicator.audit.verdict import Row, Verdict
from replicator.config.topology import Route
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.store_errors import reached

AUDITS_KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAudit:
    """Verdict of one audit of a route.

    Args:
        at_ms, since_ms, until_ms: of the audit and of its window, Unix time in milliseconds.
        by: depth: offsets, count or bytes.
        counts: number of partitions by verdict.
        problems: of the whole audit: servers that could not be reached.
    """

    route: str
    at_ms: int
    since_ms: int
    until_ms: int
    by: str
    who: str
    counts: Mapping[str, int]
    problems: tuple[str, ...] = ()

    @property
    def worst(self) -> Verdict | None:
        """The worst verdict; None where nothing was compared."""
        return next((each for each in Verdict if self.counts.get(each.value)), None)

    def to_json(self) -> str:
        """Returns the verdict as compact JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> KeptAudit:
        """Parses a verdict; fields of later versions are left out. Raises ValueError."""
        return PARSER.validate_json(text)


PARSER = TypeAdapter(KeptAudit)


def counts_of(rows: list[Row]) -> dict[str, int]:
    """Returns the number of rows by verdict, the worst first."""
    found = [row.verdict for row in rows]
    return {each.value: found.count(each) for each in Verdict if each in found}


class KeptAudits(RedisStore):
    """Kept audits of one Redis. Blocking; every method raises StoreUnreachable."""

    def keep(self, route: Route, audit: KeptAudit) -> None:
        """Adds an audit, and drops those above AUDITS_KEPT."""
        with reached(self.name), self._redis.pipeline(transaction=True) as pipeline:
            pipeline.lpush(_name(route), audit.to_json())
            pipeline.ltrim(_name(route), 0, AUDITS_KEPT - 1)
            pipeline.execute()

    def of(self, route: Route) -> list[KeptAudit]:
        """Returns the audits of a route, the newest first. Raises ValueError as from_json does."""
        with reached(self.name):
            found: Any = self._redis.lrange(_name(route), 0, -1)
        return [KeptAudit.from_json(text) for text in found]


def _name(route: Route) -> str:
    return f"sluice:audits:{route.key}"
