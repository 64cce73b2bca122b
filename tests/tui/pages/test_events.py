"""Page of events: the newest first, faults, and the events of a row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.console.snapshots import NOW, events, lagging
from tui.pages.events import COLUMNS, EventsPage, event_key
from tui.pages.page import Row
from tui.pages.rows import faults_of, keys_of, sorts_of

PAGE = EventsPage()
SILENT, ORDER = events()


def rows(page=PAGE, snapshot=None):
    (section,) = page.sections(snapshot or lagging(), NOW)
    return section.rows


def test_an_event_has_time_region_level_kind_who_text_and_result():
    assert [cell.text for cell in rows()[1].cells] == [
        *("13:40:31", "west", "info", "order", "alice@ops"),
        *("pause-topic clicks: load test", "done"),
    ]
    assert PAGE.sections(lagging(), NOW)[0].sort == ("-TIME",)


def test_warnings_and_errors_are_faults():
    error = replace(SILENT, event_id="9-0", level="error")
    found = rows(snapshot=replace(lagging(), events=(*events(), error)))
    assert faults_of(found) == [True, False, True]


@pytest.mark.parametrize("title", [each.title for each in COLUMNS])
def test_every_column_sorts_as_its_cells_do(title):
    at = [each.title for each in COLUMNS].index(title)
    assert sorts_of(rows(), title, at) == [row.cells[at].sort for row in rows()]


@pytest.mark.parametrize(
    ("row", "page"),
    [
        (Row("k", (), topic="clicks", route="east>west", region="west"), EventsPage("clicks")),
        (Row("k", (), group="billing"), EventsPage("billing")),
        (Row("k", (), feed="ticks", region="west"), EventsPage("ticks")),
        (Row("k", (), route="east>west"), EventsPage("east>west")),
        (Row("k", (), region="west"), EventsPage(region="west")),
    ],
)
def test_the_events_of_a_row_are_those_of_what_it_names_best(row, page):
    assert EventsPage.for_row(row) == page


def test_only_events_that_mention_it_or_are_of_the_region_are_shown():
    assert keys_of(rows(EventsPage("clicks"))) == [event_key(ORDER)]
    assert keys_of(rows(EventsPage(region="east"))) == [event_key(SILENT)]
    assert EventsPage("clicks").title(lagging()) == "events   1 about clicks"
    assert PAGE.title(lagging()) == "events   2"


def test_events_that_are_not_known_are_not_none():
    unknown = replace(lagging(), events=None)
    assert PAGE.title(unknown) == "events   not known yet"
    (section,) = PAGE.sections(unknown, NOW)
    assert section.empty == "no region's Redis has answered yet"


def test_notes_say_when_it_was_and_who_told_it():
    assert PAGE.notes(lagging(), rows()[0], NOW) == (
        "2026-11-21 14:01:10 UTC, east: warning source-silent by replicate east",
    )
    assert PAGE.notes(lagging(), None, NOW) == ()
