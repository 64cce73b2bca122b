"""Keys: each once, none that multiplexers take, remapped by a file."""

from pathlib import Path

import pytest

from tests.tui.console import snapshots
from tui.console.all_actions import PLACES
from tui.console.keys import (
    DEFAULT,
    KEYS,
    PAGE_KEYS,
    REFUSED_KEYS,
    BadKeys,
    keymap_from,
    keymap_of,
    typed,
)


def test_every_key_is_given_once_and_none_belongs_to_a_multiplexer():
    keys = [key for each in KEYS for key in each.keys]
    assert len(keys) == len(set(keys))
    assert not REFUSED_KEYS.intersection(keys)


def test_the_keys_of_pages_are_known_and_belong_to_nothing_else():
    snapshot = snapshots.lagging()
    used = {
        action.key
        for _, page in PLACES
        for row in (None, *(row for each in page.sections(snapshot, 0.0) for row in each.rows))
        for action in page.actions(snapshot, row, 0.0)
    }
    assert used == PAGE_KEYS
    assert not PAGE_KEYS.intersection(key for each in KEYS for key in each.keys)


def test_keys_that_write_are_upper_case():
    upper = {each.name for each in KEYS if each.keys[0].isupper()}
    assert upper == {"export", "reverse"}


def test_a_file_gives_other_keys_and_takes_a_key_away_from_another_action():
    keymap = keymap_from('freeze = "F"\nquit = ["x", "w"]')
    assert keymap.name("F") == "freeze"
    assert keymap.name("f") is None
    assert keymap.name("w") == "quit"
    assert keymap.key("wide") == ""
    assert keymap.key("quit") == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('freez = "F"', "unknown action 'freez'; known are: overview, "),
        ('freeze = "F"\nquit = "F"', "key 'F' is given to"),
        ("freeze = 3", "freeze: a key is a text"),
        ("freeze = []", "freeze: a key is a text"),
        ('freeze = "ctrl+b"', "multiplexers take ctrl\\+b"),
        ('freeze = "P"', "freeze: P is the key of an action of a page"),
        ("freeze", "no TOML"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text, message):
    with pytest.raises(BadKeys, match=message):
        keymap_from(text)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(BadKeys, match="none.toml"):
        keymap_of(str(tmp_path / "none.toml"))
    assert keymap_of(None) is DEFAULT
    (tmp_path / "keys.toml").write_text('freeze = "F"')
    assert keymap_of(str(tmp_path / "keys.toml")).key("freeze") == "F"


def test_textuals_names_of_keys_are_those_of_the_file():
    assert (typed("slash"), typed("upper_s"), typed("enter")) == ("/", "S", "enter")
