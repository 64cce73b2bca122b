"""Keys of the console, and their remapping by a file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class BadKeys(Exception):
    """The file of keys cannot be used. Correct it as the message says."""


@dataclass(frozen=True, slots=True)
class KeyDefinition:
    """Key of the console itself; pages have more (Action.key).

    Args:
        name: as in a file of keys.
        keys: names as Textual has them; the first one is shown.
        label: for the key bar, the palette and the help.
        meaning: for the help.
        is_replay: only in a replay.
    """

    name: str
    keys: tuple[str, ...]
    label: str
    meaning: str = ""
    is_replay: bool = False


KEYS = (
    KeyDefinition("overview", ("1",), "overview", "regions, routes, open alerts"),
    KeyDefinition("routes", ("2",), "routes", "routes, topics, partitions"),
    KeyDefinition("groups", ("3",), "groups", "consumer groups"),
    KeyDefinition("failover", ("4",), "failover", "plans that move groups"),
    KeyDefinition("balance", ("5",), "balance", "load of the carriers, orders"),
    KeyDefinition("alerts", ("6",), "alerts", "open, acknowledged, silenced, resolved"),
    KeyDefinition("feeds", ("7",), "feeds", "loading into ClickHouse"),
    KeyDefinition("events", ("8",), "events", "of all regions"),
    KeyDefinition("open", ("enter",), "in", "opens the row under the cursor"),
    KeyDefinition("back", ("escape",), "out", "clears the filter, then goes back"),
    KeyDefinition("up", ("k", "up"), "up", "one row up"),
    KeyDefinition("down", ("j", "down"), "down", "one row down"),
    KeyDefinition("page-up", ("pageup",), "page up", "one window up"),
    KeyDefinition("page-down", ("pagedown",), "page down", "one window down"),
    KeyDefinition("first", ("home",), "first", "first row; follows, if the newest"),
    KeyDefinition("last", ("end",), "last", "last row; follows, if the newest"),
    KeyDefinition("left", ("left",), "left", "wide view: columns to the left"),
    KeyDefinition("right", ("right",), "right", "wide view: columns to the right"),
    KeyDefinition("filter", ("/",), "filter", "regular expression; ! inverts it; esc clears it"),
    KeyDefinition("search", ("ctrl+f",), "search", "all names: routes, topics, groups, feeds"),
    KeyDefinition("sort", ("s",), "sort", "by the next column"),
    KeyDefinition("reverse", ("S",), "reverse", "turns the order round"),
    KeyDefinition("faults", ("e",), "faults", "faults only, or all"),
    KeyDefinition("wide", ("w",), "wide", "all columns; left and right move along them"),
    KeyDefinition("freeze", ("f",), "freeze", "what is shown stays; asking goes on"),
    KeyDefinition("ask", ("space",), "ask now", "asks all servers now"),
    KeyDefinition("palette", (":", "ctrl+p"), "actions", "all actions, and why one is off"),
    KeyDefinition("help", ("?",), "help", "keys and columns of this screen"),
    KeyDefinition("theme", ("t",), "theme", "next theme"),
    KeyDefinition("measure", ("m",), "measure", "of partitions: records, seconds or bytes"),
    KeyDefinition("copy", ("y",), "copy", "row, to the clipboard (OSC 52)"),
    KeyDefinition("export", ("E",), "export", "view as CSV or JSON, screen as SVG"),
    KeyDefinition("row-groups", ("g",), "groups", "groups of this row"),
    KeyDefinition("row-events", ("l",), "events", "events of this row"),
    KeyDefinition("jobs", ("b",), "jobs", "commands that run in the background, or have ended"),
    KeyDefinition("replay-back", ("[",), "back", "one snapshot back", is_replay=True),
    KeyDefinition("replay-forward", ("]",), "forward", "one snapshot on", is_replay=True),
    KeyDefinition("replay-slower", (",",), "slower", "half the speed", is_replay=True),
    KeyDefinition("replay-faster", (".",), "faster", "twice the speed", is_replay=True),
    KeyDefinition("replay-alert", ("n",), "next alert", "goes to the next alert", is_replay=True),
    KeyDefinition("replay-seek", ("i",), "to a time", "goes to a time", is_replay=True),
    KeyDefinition("quit", ("q", "ctrl+c"), "quit", "leaves; jobs go on"),
)
SCREENS = tuple(each.name for each in KEYS[:8])
REFUSED_KEYS = frozenset({"ctrl+a", "ctrl+b", "ctrl+j", "ctrl+o", "ctrl+s"})
"""Keys that terminal multiplexers take for themselves."""
PAGE_KEYS = frozenset("ADHKLOPRUVWXZ")
"""Keys of the actions of pages. They count first, so no other action may have one of them."""
NAMES = {
    "slash": "/",
    "question_mark": "?",
    "colon": ":",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "comma": ",",
    "full_stop": ".",
}
SHOWN = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn"}


def typed(key: str) -> str:
    """Returns the name under which a key of Textual is looked up."""
    if key.startswith("upper_"):
        return key.removeprefix("upper_").upper()
    return NAMES.get(key, key)


def shown(key: str) -> str:
    """Returns the name of a key for people."""
    return SHOWN.get(key, key)


@dataclass(frozen=True, slots=True)
class Keymap:
    """Keys of all actions of the console."""

    by_name: Mapping[str, tuple[str, ...]]

    def name(self, key: str) -> str | None:
        """Returns the action of a key; None when it has none."""
        return next((name for name, keys in self.by_name.items() if key in keys), None)

    def key(self, name: str) -> str:
        """Returns the key of an action, for people; "" when it has none."""
        keys = self.by_name.get(name, ())
        return shown(keys[0]) if keys else ""


DEFAULT = Keymap({each.name: each.keys for each in KEYS})


def keymap_from(text: str) -> Keymap:
    """Returns the keys with those of a file in TOML in place: `name = "key"` or a list of keys.

    Raises:
        BadKeys: the text is no TOML, an action is unknown, or a key is given twice.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadKeys(f"no TOML: {error}") from None
    by_name = dict(DEFAULT.by_name)
    for name, value in found.items():
        if name not in by_name:
            raise BadKeys(f"unknown action {name!r}; known are: {', '.join(by_name)}")
        by_name[name] = _keys(name, value)
    given = {key: name for name in found for key in by_name[name]}
    for name in by_name.keys() - found.keys():
        by_name[name] = tuple(key for key in by_name[name] if key not in given)
    _check_once(by_name)
    return Keymap(by_name)


def _keys(name: str, value: object) -> tuple[str, ...]:
    keys = value if isinstance(value, list) else [value]
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise BadKeys(f"{name}: a key is a text, such as {name} = {DEFAULT.by_name[name][0]!r}")
    for key in keys:
        if key in PAGE_KEYS:
            raise BadKeys(f"{name}: {key} is the key of an action of a page, such as pause")
        if key in REFUSED_KEYS:
            raise BadKeys(f"{name}: terminal multiplexers take {key} for themselves")
    return tuple(keys)


def _check_once(by_name: Mapping[str, tuple[str, ...]]) -> None:
    owners: dict[str, str] = {}
    for name, keys in by_name.items():
        for key in keys:
            if owners.setdefault(key, name) != name:
                raise BadKeys(f"key {key!r} is given to {owners[key]} and to {name}")


def keymap_of(path: str | None) -> Keymap:
    """Returns the keys of a file; the default ones without a file. Raises BadKeys."""
    if path is None:
        return DEFAULT
    try:
        return keymap_from(Path(path).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise BadKeys(f"{path}: {error}") from None
    except BadKeys as error:
        raise BadKeys(f"{path}: {error}") from None
