"""File of keys: gives other keys, and says by line what cannot be used and how to mend it."""

from pathlib import Path

import pytest

from tui.console.keys import DEFAULT, PAGE_KEYS
from tui.console.keys_file import BadKeys, keymap_from, keymap_of, line_of


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
