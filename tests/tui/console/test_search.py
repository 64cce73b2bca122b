"""Search over all names."""

from tests.tui.console import snapshots
from tui.console.search import Name, names_of, search_page, target_of
from tui.pages.partitions import PartitionsPage
from tui.pages.topics import TopicsPage


def test_regions_routes_topics_groups_and_feeds_are_found():
    kinds = {each.kind for each in names_of(snapshots.lagging())}
    assert kinds == {"region", "route", "topic", "group", "feed"}


def test_a_name_leads_to_its_page_with_the_pages_above_it():
    topic = target_of(Name("topic", "orders", "east>west"))
    assert topic.pages == (TopicsPage("east>west"), PartitionsPage("east>west", "orders"))
    assert target_of(Name("route", "east>west")).pages == (TopicsPage("east>west"),)
    group = target_of(Name("group", "billing", "west"))
    assert (group.screen, group.cursor) == ("groups", ("groups", "billing"))
    assert target_of(Name("region", "east")).screen == "overview"


def test_names_of_an_empty_snapshot_are_none():
    (section,) = search_page(list(names_of(snapshots.empty()))).tables
    assert len(section.rows) == 0


def test_names_with_any_character_in_them_differ_by_their_keys():
    odd = Name("group", "a\nb", "")
    assert odd.key != Name("group", "a", "b\n").key
    assert target_of(odd).cursor == ("groups", "a\nb")
