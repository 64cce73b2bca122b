"""Region of a snapshot: what was not asked is unknown."""

from replicator.groups.planning.checks import AGE_WARN_MS
from tui.facts.region_view import COPIES_STALE_SECONDS, DAEMON_ROLES, RegionView


def test_servers_that_were_not_asked_are_unknown_and_so_is_the_age_of_copies() -> None:
    region = RegionView(region="west")
    assert {region.regional, region.aggregate, region.redis} == {"unknown"}
    assert region.copies_age_seconds is None


def test_copies_are_stale_from_the_age_at_which_a_failover_warns_of_them() -> None:
    assert COPIES_STALE_SECONDS * 1000 == AGE_WARN_MS


def test_there_is_a_role_for_each_daemon() -> None:
    assert DAEMON_ROLES == ("replicate", "balance", "offsets", "aggregate", "verify")
