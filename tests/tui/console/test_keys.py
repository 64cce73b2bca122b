"""Keys: each once, none that multiplexers take, and those of all actions of pages."""

from tests.tui.console import snapshots
from tui.console.all_actions import PLACES
from tui.console.keys import DEFAULT, KEYS, PAGE_KEYS, Keymap, typed
from tui.console.keys_file import REFUSED_KEYS
from tui.pages.balance_actions import stream_actions
from tui.pages.page import Action

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
