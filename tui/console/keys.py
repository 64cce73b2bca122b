"""Keys of the console and of the actions of its pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tui.pages.page import Action


@dataclass(frozen=True, slots=True)
class KeyDefinition:
    """Key of the console itself; actions of pages have others (PageKey).

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


@dataclass(frozen=True, slots=True)
class PageKey:
    """Key of an action of pages, the same on all of them.

    Args:
        label: of the action.
        key: where no file gives another (Action.key).
        screens: with pages that have the action.
    """

    label: str
    key: str
    screens: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name in a file of keys."""
        return self.label.replace(" ", "-")


PAGE_KEYS = (
    PageKey("pause", "H", ("routes",)),
    PageKey("resume", "R", ("routes", "balance", "feeds")),
    PageKey("rewind", "W", ("routes",)),
    PageKey("accept loss", "L", ("routes", "feeds")),
    PageKey("plan failover", "P", ("groups", "failover")),
    PageKey("plan switchover", "W", ("groups", "failover")),
    PageKey("apply", "A", ("failover", "balance")),
    PageKey("verify", "V", ("failover",)),
    PageKey("plan", "P", ("balance",)),
    PageKey("hold", "H", ("balance",)),
    # It takes the place of resume where the cursor is on an order.
    PageKey("end order", "R", ("balance",)),
    PageKey("pin", "D", ("balance",)),
    PageKey("unpin", "U", ("balance",)),
    PageKey("exclude", "X", ("balance",)),
    PageKey("acknowledge", "K", ("alerts",)),
    PageKey("silence", "Z", ("alerts",)),
    PageKey("reopen", "O", ("alerts",)),
    PageKey("deeper", "D", ("alerts",)),
    PageKey("freeze", "H", ("feeds",)),
)
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
    """Keys of all actions.

    Args:
        by_name: keys of the console's own actions, by their names.
        by_label: keys of actions of pages, by their labels, where not the usual ones.
    """

    by_name: Mapping[str, tuple[str, ...]]
    by_label: Mapping[str, str] = field(default_factory=dict)

    def name(self, key: str) -> str | None:
        """Returns the action of a key; None when it has none."""
        return next((name for name, keys in self.by_name.items() if key in keys), None)

    def key(self, name: str) -> str:
        """Returns the key of an action, for people; "" when it has none."""
        keys = self.by_name.get(name, ())
        return shown(keys[0]) if keys else ""

    def with_key(self, action: Action) -> Action:
        """Returns the action of a page with the key that it has here."""
        key = self.by_label.get(action.label, action.key)
        return action if key == action.key else replace(action, key=key)


DEFAULT = Keymap({each.name: each.keys for each in KEYS})
