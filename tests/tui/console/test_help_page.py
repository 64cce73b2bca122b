"""Help: keys of the screen, meanings of its columns."""

from tests.tui.console import snapshots
from tui.console.built_page import built
from tui.console.keys import DEFAULT, KEYS
from tui.console.palette import help_page
from tui.console.view_state import ViewState
from tui.pages.partitions import COLUMNS, PartitionsPage


def test_help_names_every_key_of_the_console_and_every_column():
    page = built(
        ViewState(page=PartitionsPage("east>west", "orders")), snapshots.lagging(), snapshots.NOW
    )
    keys, columns = help_page(DEFAULT, page, (), is_replay=False).tables
    assert len(keys.rows) == sum(not each.is_replay for each in KEYS)
    titles = [row.cells[0].text for row in columns.rows]
    assert titles[: len(COLUMNS)] == [column.title for column in COLUMNS]
    assert all(row.cells[2].text for row in columns.rows)


def test_keys_of_a_replay_are_named_in_a_replay_only():
    keys, _ = help_page(DEFAULT, None, (), is_replay=True).tables
    assert len(keys.rows) == len(KEYS)
