"""Keys: their file, and the help and the palette that show them."""

from pathlib import Path

import pytest

from tests.tui.console import snapshots
from tui.console.all_actions import PLACES, PlacedAction, elsewhere
from tui.console.built_page import built
from tui.console.keys import DEFAULT, KEYS, PAGE_KEYS, Keymap, typed
from tui.console.keys_file import REFUSED_KEYS, BadKeys, keymap_from, keymap_of, line_of
from tui.console.palette import ELSEWHERE, PAGE_ACTION, help_page, palette_page
from tui.console.view_state import ViewState
from tui.pages.balance_actions import stream_actions
from tui.pages.page import Action
from tui.pages.partitions import COLUMNS, PartitionsPage
from tui.pages.topics import TopicsPage

# --- Keys: each once, none that multiplexers take, and those of all actions of pages.

OWN = {key for each in KEYS for key in each.keys}


def test_every_key_is_given_once_and_none_belongs_to_a_multiplexer():
    assert len(OWN) == sum(len(each.keys) for each in KEYS)
    assert not REFUSED_KEYS.intersection(OWN)


def test_the_keys_of_pages_are_those_of_their_actions_and_belong_to_nothing_else():
    snapshot = snapshots.lagging()
    used = {
        (action.label, action.key, page.name)
        for _, page in PLACES
        for row in (None, *(row for each in page.sections(snapshot, 0.0) for row in each.rows))
        for action in page.actions(snapshot, row, 0.0)
    }
    balance = snapshots.balance("west")
    assert balance.orders
    used |= {
        (action.label, action.key, "balance")
        for action in stream_actions(balance, balance.streams[0], order=balance.orders[0])
    }
    assert used == {(each.label, each.key, name) for each in PAGE_KEYS for name in each.screens}
    assert not OWN.intersection(each.key for each in PAGE_KEYS)


def test_actions_of_one_screen_have_one_key_only_where_one_takes_the_others_place():
    twice = {
        (one.label, other.label)
        for one in PAGE_KEYS
        for other in PAGE_KEYS
        if one.label < other.label
        and one.key == other.key
        and set(one.screens).intersection(other.screens)
    }
    assert twice == {("end order", "resume")}


def test_keys_that_write_are_upper_case():
    upper = {each.name for each in KEYS if each.keys[0].isupper()}
    assert upper == {"export", "reverse"}
    assert all(each.key.isupper() for each in PAGE_KEYS)


def test_an_action_of_a_page_has_the_key_of_the_keymap():
    pause, hold = Action("H", "pause", ()), Action("H", "hold", ())
    keymap = Keymap(DEFAULT.by_name, {"pause": "x"})
    assert (keymap.with_key(pause).key, keymap.with_key(hold).key) == ("x", "H")
    assert DEFAULT.with_key(pause) is pause


def test_textuals_names_of_keys_are_those_of_the_file():
    assert (typed("slash"), typed("upper_s"), typed("enter")) == ("/", "S", "enter")


# --- File of keys: gives other keys, and says by line what cannot be used and how to mend it.


def test_a_file_gives_other_keys_and_takes_a_key_away_from_another_action():
    keymap = keymap_from('freeze = "F"\nquit = ["x", "w"]')
    assert keymap.name("F") == "freeze"
    assert keymap.name("f") is None
    assert keymap.name("w") == "quit"
    assert keymap.key("wide") == ""
    assert keymap.key("quit") == "x"


def test_a_file_gives_other_keys_to_actions_of_pages():
    keymap = keymap_from('[actions]\npause = "x"\nplan-failover = "f2"\nfreeze = "T"')
    assert keymap.by_label == {"pause": "x", "plan failover": "f2", "freeze": "T"}
    assert keymap.by_name == DEFAULT.by_name


def test_every_action_of_a_page_can_be_given_another_key():
    for each in PAGE_KEYS:
        keymap = keymap_from(f'actions.{each.name} = "ctrl+x"')
        assert keymap.by_label == {each.label: "ctrl+x"}


def test_keys_may_be_written_as_the_screen_shows_them():
    keymap = keymap_from('back = "esc"\npage-up = ["pgup", "-"]\npage-down = "+"')
    assert keymap.by_name["back"] == ("escape",)
    assert keymap.by_name["page-up"] == ("pageup", "-")
    assert keymap.by_name["page-down"] == ("+",)


def test_the_key_of_a_page_is_free_once_its_actions_have_others():
    text = 'freeze = "K"\n[actions]\nacknowledge = "f"'
    keymap = keymap_from(text)
    assert (keymap.name("K"), keymap.name("f")) == ("freeze", None)
    assert keymap.by_label == {"acknowledge": "f"}


def test_two_actions_of_different_screens_may_have_one_key():
    assert keymap_from('actions.silence = "H"').by_label == {"silence": "H"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nfreez = "F"', "line 2: unknown action 'freez'; did you mean freeze\\? known are: over"),
        (
            '[actions]\n\nhlod = "x"',
            "line 3: unknown action 'hlod'; did you mean hold\\? known are",
        ),
        ('[actions]\nzzz = "x"', "line 2: unknown action 'zzz'; known are: pause, resume"),
        ('quit = "Q"\npause = "x"', "line 2: pause is an action of a page: write it below a line"),
        ('[actions]\nquit = "Q"', "line 2: quit is no action of a page: write it above"),
        ('[pages]\nquit = "Q"', "line 1: unknown action 'pages'"),
        ('freeze = "F"\nquit = "F"', "line 2: key 'F' is given to freeze and to quit; give one of"),
        ("freeze = 3", 'line 1: freeze: a key is a text, such as freeze = "f"'),
        ("freeze = []", "line 1: freeze: a key is a text"),
        ('actions.hold = ["x", "y"]', 'line 1: hold: a key is a text, such as hold = "H"'),
        ('freeze = "banana"', "line 1: freeze: there is no key 'banana'; a key is one character"),
        ('freeze = "ctrl+b"', "line 1: freeze: terminal multiplexers take ctrl\\+b"),
        ('freeze = "ctrl+c"', "line 1: freeze: ctrl\\+c always quits; take another key"),
        ('freeze = "P"', r"line 1: key 'P' of freeze is also that of plan-failover \(screen group"),
        (
            'actions.hold = "X"',
            "line 1: key 'X' of hold is also that of exclude on screen balance;",
        ),
        ('# a\nactions.hold = "s"', r"line 2: key 's' of sort is also .* such as B C F G I J M N"),
        ("freeze", 'no TOML: .*line 1.*; a line is name = "key"'),
        ("actions = 3", "line 1: unknown action 'actions'"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_how_to_mend_it(text, message):
    with pytest.raises(BadKeys, match=message):
        keymap_from(text)


def test_the_line_of_a_name_is_that_of_its_table():
    text = '# hold = "x"\nfreeze = "F"\n\n[ actions ] # of pages\n"hold" = "x"\nfreeze="T"\n'
    assert line_of(text, "", "freeze") == 2
    assert (line_of(text, "actions", "freeze"), line_of(text, "actions", "hold")) == (6, 5)
    assert line_of('actions = { hold = "x" }', "actions", "hold") == 0


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(BadKeys, match="none.toml"):
        keymap_of(str(tmp_path / "none.toml"))
    assert keymap_of(None) is DEFAULT
    (tmp_path / "keys.toml").write_text('freeze = "F"')
    assert keymap_of(str(tmp_path / "keys.toml")).key("freeze") == "F"


# --- Actions of all screens, as the palette lists them.

SNAPSHOT = snapshots.lagging()


def test_every_action_of_every_screen_is_found_once():
    found = [each.action for each in elsewhere(SNAPSHOT, snapshots.NOW, ())]
    identities = [(each.key, each.label, each.words[:2]) for each in found]
    assert len(set(identities)) == len(identities)
    labels = {each.label for each in found}
    assert {"plan failover", "apply", "pause", "freeze", "acknowledge", "pin", "accept loss"} <= (
        labels
    )


def test_those_of_the_page_are_left_out():
    here = TopicsPage("east>west").actions(SNAPSHOT, None, snapshots.NOW)
    found = elsewhere(SNAPSHOT, snapshots.NOW, here)
    assert not {"routes"} & {each.screen for each in found}


def test_an_action_is_on_a_screen_that_a_key_leads_to():
    assert {page.name for _, page in PLACES} == {
        "routes",
        "groups",
        "failover",
        "balance",
        "alerts",
        "feeds",
    }


# --- Help: keys of the screen, meanings of its columns.


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


# --- Palette: every action, with the reason why it is off.

PAUSE = Action("H", "pause", ("balance", "pause"), confirmation="x")


def test_every_action_of_page_and_console_is_listed_and_says_why_it_is_off():
    page = palette_page(
        DEFAULT, [(PAUSE, "start the console with --steer")], [(each.name, None) for each in KEYS]
    )
    (section,) = page.tables
    assert len(section.rows) == len(KEYS) + 1
    first = section.rows[0]
    assert first.key == f"{PAGE_ACTION}H"
    assert [cell.text for cell in first.cells] == [
        "H",
        "pause",
        "off: start the console with --steer",
    ]


def test_an_action_that_is_copied_says_so():
    copied = Action("L", "accept loss", ("accept-loss",), is_copied=True)
    (section,) = palette_page(DEFAULT, [(copied, None)], []).tables
    assert section.rows[0].cells[2].text == "sluice accept-loss (to copy)"


def test_actions_of_other_screens_are_listed_with_their_screen():
    placed = PlacedAction("balance", "on a stream", PAUSE)
    (section,) = palette_page(DEFAULT, [], [], [placed, PlacedAction("failover", "", PAUSE)]).tables
    assert section.rows[0].key == f"{ELSEWHERE}0"
    texts = [row.cells[2].text for row in section.rows]
    assert texts == [
        "off: it is on screen 5 balance, on a stream",
        "off: it is on screen 4 failover",
    ]
