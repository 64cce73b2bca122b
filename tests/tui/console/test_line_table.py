"""Table: cursor by key from snapshot to snapshot, keys, mouse, size."""

from dataclasses import replace

from textual import events

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tests.tui.console.values.routes import with_partitions
from tui.console.console_commands import perform
from tui.console.line_table import LineTable
from tui.console.list_page import ListPage
from tui.facts.health import Health
from tui.pages.page import Cell, Column, Row, Section
from tui.pages.partitions import PartitionsPage
from tui.pages.rows import LazyRows
from tui.pages.topics import TopicsPage

PAGE = PartitionsPage("east>west", "orders")
MANY = PartitionsPage("west>east", "topic-000")


async def test_the_cursor_stays_on_its_row_when_the_order_changes():
    found = snapshots.lagging()
    async with running(found) as console:
        await console.show(PAGE)
        await console.press("down")
        assert console.cursor == "18"
        route = found.routes[1]
        assert route.topics is not None
        topic = route.topics[0]
        healed = tuple(
            replace(each, state=Health.OK, lag_records=0) if each.partition == 18 else each
            for each in topic.partitions
        )
        topics = (with_partitions(topic, healed), *route.topics[1:])
        routes = (found.routes[0], replace(route, topics=topics), *found.routes[2:])
        await console.give(replace(found, routes=routes))
        assert console.cursor == "18"
        assert console.app.state.navigation.current.cursor_at > 2


async def test_a_new_alert_does_not_draw_the_cursor_of_the_overview_away():
    found = snapshots.lagging()
    async with running(replace(found, alerts=())) as console:
        assert console.cursor == "east>west"
        await console.give(found)
        assert console.cursor == "east>west"
        await console.press("enter")
        assert console.page == TopicsPage("east>west")


async def test_the_overview_begins_on_the_worst_alert_of_the_first_answers():
    found = snapshots.lagging()
    unasked = tuple(replace(each, asked_at=None) for each in found.parts)
    async with running(replace(found, alerts=(), parts=unasked)) as console:
        assert console.cursor == "east>west"
        await console.give(found)
        assert console.cursor in {each.key for each in snapshots.alerts()}


async def test_a_page_that_comes_just_after_a_key_does_not_undo_it(console):
    await console.show(PAGE)
    screen = console.app.main
    page = screen.table.page
    assert page is not None
    # Nothing is awaited in between: no message of the table has been handled yet.
    perform(screen, "down")
    screen.show_page(page, console.app.state.navigation.current)
    assert screen.table.position[0] == 2


async def test_a_key_that_leads_on_just_after_another_is_not_undone(console):
    await console.show(TopicsPage("east>west"))
    screen = console.app.main
    perform(screen, "down")
    perform(screen, "open")
    await console.settled()
    assert isinstance(console.app.state.navigation.current.page, PartitionsPage)


async def test_keys_move_by_row_by_window_and_to_both_ends():
    async with running(snapshots.many()) as console:
        await console.show(MANY)
        table = console.app.main.table
        places = []
        for key in ("j", "j", "k", "pagedown", "pageup", "end", "home", "up"):
            await console.press(key)
            places.append(table.position[0])
        window = table.size.height - 2
        assert places == [2, 3, 2, 2 + window, 2, 2500, 1, 1]


async def test_the_last_row_is_visible_after_end_and_only_visible_rows_are_made():
    made = []

    def make(number: int) -> Row:
        made.append(number)
        return Row(str(number), (Cell(str(number)),))

    rows = LazyRows(
        items=range(2500), make=make, key=str, sorts={}, is_fault=lambda _: False, text=str
    )
    page = ListPage("numbers", (Section("numbers", (Column("N", 6),), rows),))
    async with running(snapshots.many()) as console:
        await console.show(page)
        await console.press("end")
        assert "2500 of 2500" in console.frame()
        assert len(set(made)) < 60


async def test_the_newest_event_stays_in_view_until_the_cursor_is_moved():
    first, second = snapshots.events()
    newer = replace(first, event_id="2-0", at_ms=first.at_ms + 1000, text="newer")
    newest = replace(first, event_id="3-0", at_ms=first.at_ms + 2000, text="newest")
    found = snapshots.lagging()
    async with running(found) as console:
        await console.press("8")
        assert "follows" in console.frame()
        await console.give(replace(found, events=(first, second, newer)))
        assert console.cursor == "east 2-0"
        await console.press("down")
        kept = console.cursor
        await console.give(replace(found, events=(first, second, newer, newest)))
        assert console.cursor == kept and "does not follow" in console.frame()
        await console.press("home")
        assert console.cursor == "east 3-0"
        await console.give(replace(found, events=(first, second, newer)))
        assert console.cursor == "east 2-0" and "does not follow" not in console.frame()
        await console.press("S")
        assert console.app.main.table.position == (3, 3)


async def test_a_click_moves_the_cursor_and_a_second_one_opens_the_row(console):
    await console.show(TopicsPage("east>west"))
    assert await console.pilot.click("#table", offset=(5, 2))
    await console.settled()
    assert console.cursor == "clicks"
    assert await console.pilot.click("#table", offset=(5, 2))
    await console.settled()
    assert console.app.state.navigation.current.page == PartitionsPage("east>west", "clicks")


async def test_a_click_beside_the_rows_does_nothing(console):
    await console.show(TopicsPage("east>west"))
    await console.pilot.click("#table", offset=(5, 0))
    await console.settled()
    assert console.cursor == "orders"


async def test_the_wheel_moves_the_cursor():
    async with running(snapshots.many()) as console:
        await console.show(MANY)
        table = console.app.main.table
        table.post_message(_wheel(events.MouseScrollDown, table))
        await console.settled()
        assert table.position[0] == 4
        table.post_message(_wheel(events.MouseScrollUp, table))
        await console.settled()
        assert table.position[0] == 1


def _wheel(kind: type[events.MouseEvent], table: LineTable) -> events.MouseEvent:
    nowhere = (0, 0, 0, 0, 0)
    return kind(table, *nowhere, shift=False, meta=False, ctrl=False)


async def test_a_smaller_terminal_keeps_the_cursor_visible():
    async with running(snapshots.many(), size=(140, 45)) as console:
        await console.show(MANY)
        await console.press(*["down"] * 30)
        await console.resize(80, 24)
        assert "›" in console.frame()
        assert "31 of 2500" in console.frame()


async def test_a_text_is_shown_instead_of_a_page():
    async with running(None) as console:
        table = console.app.main.table
        table.move(1)
        table.move_page(1)
        assert (table.cursor_row, table.position) == (None, (0, 0))
        assert "asking the servers of appliance.toml" in console.frame()
