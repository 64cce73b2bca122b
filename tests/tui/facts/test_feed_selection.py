"""Selection of feeds: by region, by name, or all; an unknown one is refused."""

import pytest

from replicator.config.topology import Appliance, UnknownRegion
from tests.replicator.config.test_feed_contradictions import feed, loaded
from tests.replicator.config.test_topology import SOUND
from tui.facts.feed_scope import selected_feeds

OTHER = feed("clicks", topics='"clicks"').replace('region = "west"', 'region = "east"')


@pytest.fixture
def appliance(tmp_path) -> Appliance:
    return loaded(tmp_path, SOUND + feed("flights") + OTHER)


@pytest.mark.parametrize(
    ("region", "names", "found"),
    [
        (None, [], ["clicks", "flights"]),
        ("west", [], ["flights"]),
        (None, ["flights", "flights"], ["flights"]),
        ("east", ["clicks"], ["clicks"]),
    ],
)
def test_feeds_are_selected_by_region_and_name(appliance, region, names, found):
    assert [each.name for each in selected_feeds(appliance, region, names)] == found


@pytest.mark.parametrize(
    ("region", "names", "text"),
    [
        ("north", [], "no region 'north'"),
        (None, ["x"], "no feed 'x'; known: clicks, flights"),
        ("east", ["flights"], "region 'east' does not load feed 'flights'"),
    ],
)
def test_what_is_not_configured_is_named(appliance, region, names, text):
    with pytest.raises(UnknownRegion, match=text):
        selected_feeds(appliance, region, names)


def test_a_configuration_without_feeds_is_named(tmp_path):
    nothing = loaded(tmp_path, SOUND)
    with pytest.raises(UnknownRegion, match="the configuration has no feed"):
        selected_feeds(nothing, None, [])
    with pytest.raises(UnknownRegion, match="region 'west' has no feed"):
        selected_feeds(nothing, "west", [])
