"""Look at feeds: their servers are asked once, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from replicator.config.topology import Appliance
from tests.addresses import refusing
from tests.replicator.config.test_feed_contradictions import feed, loaded
from tests.tui.commands.test_replicate import CONFIG
from tui.facts.watch.balance_questions import orders_key
from tui.facts.watch.feed_questions import (
    feed_look_questions,
    feed_topics_key,
    feeds_now,
    loader_reports_key,
    progress_key,
    tables_key,
)
from tui.facts.watch.notice_questions import notices_key


@pytest.fixture
def appliance(tmp_path: Path) -> Appliance:
    return loaded(tmp_path, CONFIG + feed())


def test_only_the_servers_of_the_feeds_are_asked_each_once(appliance: Appliance) -> None:
    flights = appliance.feed("flights")
    (cluster,) = flights.clusters
    keys = [each.key for each in feed_look_questions(appliance, [flights], 1.0)]
    assert len(keys) == len(set(keys))
    assert set(keys) == {
        feed_topics_key(cluster),
        progress_key(flights, cluster),
        loader_reports_key(flights),
        tables_key(flights, 0),
        orders_key("west"),
        notices_key("west"),
    }


def test_servers_that_refuse_are_problems_and_nothing_is_raised(appliance: Appliance) -> None:
    flights = appliance.feed("flights")
    nobody = {"bootstrap": (refusing(),)}
    region = appliance.region("west")
    away = region.model_copy(
        update={
            "redis": f"redis://{refusing()}",
            "regional": region.regional.model_copy(update=nobody),
            "aggregate": region.aggregate.model_copy(update=nobody),
        }
    )
    there = appliance.model_copy(update={"regions": {**appliance.regions, "west": away}})
    (found,) = feeds_now(there, [flights], 3.0).feeds
    assert (found.unknown_clusters, found.partitions) == (("west regional",), ())
    assert any("west regional" in text for text in found.problems)
