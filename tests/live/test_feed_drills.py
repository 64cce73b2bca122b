"""Drills of feeds under load: a data centre is lost and comes back, replicators and loaders are
killed. Each acknowledged record is one row on each of the four replicas. The daemons of `sluice
verify` run all the time, and are silent until an intent is forged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.lab.wait import until
from tests.live.feed_site import REPLICAS, FeedSite, feed_site
from tests.live.feed_verifiers import FeedVerifiers, forge_backward_intent

pytestmark = [pytest.mark.drill, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def whole_site(needs_clickhouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedSite]:
    with feed_site(tmp_path_factory.mktemp("feed-drills")) as site:
        yield site


@pytest.fixture(scope="module")
def all_verifiers(whole_site: FeedSite) -> Iterator[FeedVerifiers]:
    with FeedVerifiers(whole_site.lab) as verifiers:
        yield verifiers


@pytest.fixture
def site(whole_site: FeedSite) -> Iterator[FeedSite]:
    whole_site.make_whole()
    try:
        yield whole_site
    finally:
        whole_site.end()


@pytest.fixture
def verifiers(site: FeedSite, all_verifiers: FeedVerifiers) -> FeedVerifiers:
    all_verifiers.start_missing()
    return all_verifiers


def test_a_data_centre_that_is_lost_and_comes_back_costs_no_row(
    site: FeedSite, verifiers: FeedVerifiers
) -> None:
    """Its Kafka clusters, replicas and daemons die at once; the other one's feed goes on."""
    of_west, of_east = site.begin("west-loaded"), site.begin("east-loaded")
    west, east = REPLICAS["west"][0], REPLICAS["east"][0]
    for topic in (of_west, of_east):
        for cluster in ("west regional", "east regional"):
            site.goes_on(topic, west, where=f"_cluster = '{cluster}'")
    site.lose("west")
    verifiers.kill("west")
    site.goes_on(of_east, east, 1000, where="_cluster = 'east regional'")
    site.bring_back("west")
    verifiers.start("west")
    site.goes_on(of_west, east, where="_cluster = 'west regional'")
    site.settle(of_west, of_east)
    verifiers.assert_silent()
    site.assert_verified()


def test_mirrored_regions_are_loaded_once_though_replicators_and_loaders_are_killed(
    site: FeedSite, verifiers: FeedVerifiers
) -> None:
    for name in REPLICAS:
        site.daemons.start_missing(name, "replicate")
    topic = site.begin("mirrored")
    for name, (replica, _) in REPLICAS.items():
        site.goes_on(topic, replica, database=f"mirrored_{name}")
    for replicator, loader in (("west", "east"), ("east", "west")):
        site.daemons.kill(replicator, "replicate")
        site.goes_on(topic, REPLICAS[loader][0], 100, database=f"mirrored_{loader}")
        site.daemons.kill(loader, "aggregate")
        site.daemons.start(replicator, "replicate")
        site.daemons.start(loader, "aggregate")
    site.settle(topic)
    verifiers.assert_silent()
    site.assert_verified()


def test_the_verifier_that_was_silent_speaks_of_a_forged_intent(
    site: FeedSite, verifiers: FeedVerifiers
) -> None:
    """Comes last: the forged intent stays in its cluster, and every later check finds it."""
    topic = site.begin("east-loaded")
    site.goes_on(topic, REPLICAS["east"][0], where="_cluster = 'east regional'")
    verifiers.assert_silent("east")
    offset = forge_backward_intent(site.lab, "east", "of-east", topic)
    assert until(lambda: verifiers.alerts("east"), 60), "no alert"
    alert = verifiers.alerts("east")[0]
    assert "kind=backward" in alert
    assert f"feed of-east {topic}-0 in east regional" in alert
    assert f"after: offset={offset} " in alert
    assert not verifiers.alerts("west")
