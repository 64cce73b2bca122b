"""Verdicts of audits in a real Redis: the newest of each route."""

from dataclasses import replace

import pytest

from replicator.audit.kept_audits import AUDITS_KEPT, KeptAudits
from replicator.config.topology import Route
from tests.replicator.audit.test_kept_audits import AUDIT

pytestmark = pytest.mark.stores

ROUTE, OTHER = Route("west", "east"), Route("east", "east")


def test_the_last_audits_of_each_route_are_kept_the_newest_first(redis):
    with KeptAudits(redis.url) as kept:
        for at_ms in range(AUDITS_KEPT + 3):
            kept.keep(ROUTE, replace(AUDIT, at_ms=at_ms))
        kept.keep(OTHER, AUDIT)
        found = kept.of(ROUTE)
        assert [each.at_ms for each in found] == [*range(AUDITS_KEPT + 2, 2, -1)]
        assert kept.of(OTHER) == [AUDIT]
        assert kept.of(Route("north", "east")) == []
