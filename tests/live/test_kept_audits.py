"""Verdicts of audits in a real Redis: the newest of each route."""

from dataclasses import replace

import pytest
from redis import Redis

from replicator.audit.kept_audits import AUDITS_KEPT, KeptAudits
from replicator.config.topology import Route
from tests.replicator.audit.test_kept_audit import AUDIT

pytestmark = pytest.mark.stores

ROUTE, OTHER, LATER = Route("west", "east"), Route("east", "east"), Route("south", "east")


def test_the_last_audits_of_each_route_are_kept_the_newest_first(redis):
    with KeptAudits(redis.url) as kept:
        for at_ms in range(AUDITS_KEPT + 3):
            kept.keep(ROUTE, replace(AUDIT, at_ms=at_ms))
        kept.keep(OTHER, AUDIT)
        found = kept.of(ROUTE)
        assert [each.at_ms for each in found] == [*range(AUDITS_KEPT + 2, 2, -1)]
        assert kept.of(OTHER) == [AUDIT]
        assert kept.of(Route("north", "east")) == []


def test_a_verdict_of_another_version_hides_no_others(redis):
    with KeptAudits(redis.url) as kept, Redis.from_url(redis.url) as client:
        kept.keep(LATER, AUDIT)
        client.lpush(f"sluice:audits:{LATER.key}", '{"of": "later"}')
        assert kept.of(LATER) == [AUDIT]
