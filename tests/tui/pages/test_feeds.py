"""Page of feeds: totals that are unknown when a part is, and the orders about a feed."""

from __future__ import annotations

from dataclasses import replace

from tests.tui.console.snapshots import NOW, empty, feed, healthy
from tests.tui.console.typed_actions import command_of
from tests.tui.console.values.feeds import object_feed
from tests.tui.pages.finding_snapshots import busy_feed, findings
from tui.pages.feed import FeedPage
from tui.pages.feeds import COLUMNS, NO_FEEDS, FeedsPage, feed_row

PAGE = FeedsPage()
TITLES = [each.title for each in COLUMNS]


def cells(found):
    return dict(zip(TITLES, (cell.text for cell in feed_row(found).cells), strict=True))


def test_a_feed_has_its_totals():
    found = cells(feed())
    assert (found["STATE"], found["LAG"], found["ROWS/S"], found["PARKED"]) == (
        "PARKED",
        "300",
        "1.6k",
        "1",
    )
    assert (found["INTENT S"], found["WINDOW"], found["DEAD"]) == ("-", "-", "0")


def test_a_total_with_an_unknown_part_is_unknown():
    found = cells(busy_feed())
    assert (found["LAG"], found["INTENT S"], found["WINDOW"]) == ("?", "?", "?")
    away = replace(feed(), unknown_clusters=("east regional",))
    assert (cells(away)["LAG"], cells(away)["STATE"]) == ("?", "UNKNOWN")
    assert {cells(away)[title] for title in ("PARKED", "INTENT S", "WINDOW")} == {"?"}


def test_intents_that_are_not_known_are_not_shown_as_none():
    parts = tuple(replace(each, blocks=None, custody=None, mode=None) for each in feed().partitions)
    found = cells(replace(feed(), partitions=parts[:1]))
    assert (found["INTENT S"], found["PARKED"]) == ("?", "?")


def test_the_oldest_block_stands_against_its_window():
    known = replace(busy_feed(), partitions=busy_feed().partitions[:2])
    assert (cells(known)["INTENT S"], cells(known)["WINDOW"]) == ("400", "70%")


def test_enter_leads_to_the_feed_and_notes_say_what_holds():
    row = feed_row(busy_feed())
    assert PAGE.opened(findings(), row) == FeedPage("ticks")
    assert PAGE.notes(findings(), row, NOW) == (
        "order: freeze topic orders, by ann@ops: merge",
        "problem: ticks shard 1: no answer",
    )
    assert PAGE.notes(findings(), None, NOW) == ()


def test_without_feeds_the_page_says_how_one_is_made_once_anything_is_known():
    assert PAGE.sections(replace(healthy(), feeds=()), NOW)[0].empty == NO_FEEDS
    assert PAGE.sections(empty(), NOW)[0].empty == "nothing is known yet"
    assert PAGE.title(healthy()) == "feeds   1"


def test_a_whole_feed_is_frozen_and_resumed_by_its_name():
    actions = {each.key: each for each in PAGE.actions(findings(), feed_row(busy_feed()), NOW)}
    path, values = command_of(actions["H"])
    assert (path, values["feed_name"], values["reason"]) == (
        "aggregate freeze",
        "ticks",
        "load test",
    )
    assert (values["cluster"], values["topic"], values["duration"]) == (None, None, "30m")
    assert command_of(actions["R"])[0] == "aggregate resume"
    assert actions["H"].confirmation == actions["R"].confirmation == "ticks"


def test_a_feed_into_s3_has_open_objects_in_the_place_of_shards_and_windows():
    found = cells(object_feed())
    assert (found["SHARDS"], found["WINDOW"], found["OPEN S"]) == ("S3", "-", "300")
    assert cells(feed())["OPEN S"] == "-"
