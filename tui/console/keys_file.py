"""File of keys: other keys for actions, in TOML, with errors that name the line and the mend."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from string import ascii_letters

from tui.console.keys import DEFAULT, KEYS, PAGE_KEYS, SHOWN, Keymap, PageKey

ACTIONS = "actions"
"""Table of the file for actions of pages; the console's own actions are in no table."""
REFUSED_KEYS = frozenset({"ctrl+a", "ctrl+b", "ctrl+j", "ctrl+o", "ctrl+s"})
"""Keys that terminal multiplexers take for themselves."""
QUITS = "ctrl+c"
NAMED = ("enter", "escape", "space", "tab", "backspace", "delete", "insert", "home", "end")
ARROWS = ("pageup", "pagedown", "up", "down", "left", "right")
KEY = re.compile(
    rf"(?:ctrl\+|shift\+){{0,2}}(?:[^\s+]|{'|'.join((*NAMED, *ARROWS))}|f(?:[1-9]|1\d|2[0-4]))|\+"
)
TEXTUAL_NAMES = {name: key for key, name in SHOWN.items()}
TABLE = re.compile(r"\[([^\[\]]+)\]\s*(?:#.*)?$")


class BadKeys(Exception):
    """The file of keys cannot be used. Correct it as the message says."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Entry of the file.

    Args:
        table: "" or ACTIONS.
        line: number of its line; 0 where it is not found.
    """

    table: str
    name: str
    value: object
    line: int

    def error(self, text: str) -> BadKeys:
        """Returns the error of the entry."""
        return BadKeys(f"line {self.line}: {text}" if self.line else text)


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


def keymap_from(text: str) -> Keymap:
    """Returns the usual keys with those of a text in TOML in their place.

    A line is `name = "key"` or, for the console's own actions, a list of keys. These take a key
    away from another of the console's actions that has it by default.

    Raises:
        BadKeys: the text is no TOML, an action or a key is unknown, or a key has two actions.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = f"at line {len(text.splitlines())}"
        where = str(error).replace("at end of document", last)
        raise BadKeys(f'no TOML: {where}; a line is name = "key"') from None
    entries = list(_entries(found, text))
    own = {each.name: (each, _own_keys(each)) for each in entries if not each.table}
    of_pages = {each.name: (each, _page_key(each)) for each in entries if each.table}
    given = {key for _, keys in own.values() for key in keys}
    by_name = {
        name: own[name][1] if name in own else tuple(key for key in keys if key not in given)
        for name, keys in DEFAULT.by_name.items()
    }
    by_page_key = {
        each: of_pages[each.name][1] if each.name in of_pages else each.key for each in PAGE_KEYS
    }
    lines = {name: entry for name, (entry, _) in own.items()}
    page_lines = {name: entry for name, (entry, _) in of_pages.items()}
    _check_own(by_name, lines)
    _check_pages(by_page_key, page_lines)
    _check_between(by_name, by_page_key, lines, page_lines)
    by_label = {each.label: key for each, key in by_page_key.items() if key != each.key}
    return Keymap(by_name, by_label)


def _entries(found: Mapping[str, object], text: str) -> Iterator[_Entry]:
    """Yields the entries; raises BadKeys for a name that is not known."""
    for name, value in found.items():
        if name == ACTIONS and isinstance(value, dict):
            for action, key in value.items():
                yield _known(_Entry(ACTIONS, action, key, line_of(text, ACTIONS, action)))
        else:
            yield _known(_Entry("", name, value, line_of(text, "", name)))


def line_of(text: str, table: str, name: str) -> int:
    """Returns the number of the line that sets a name of a table, from 1; 0 when none does."""
    current: tuple[str, ...] = ()
    wanted = (table, name) if table else (name,)
    for number, line in enumerate(text.splitlines(), start=1):
        header = TABLE.match(line.strip())
        current = _parts(header[1]) if header else current
        path = current if header else (*current, *_parts(line.partition("=")[0]))
        if path == wanted:
            return number
    return 0


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in path.split("."))


def _known(entry: _Entry) -> _Entry:
    names = [each.name for each in (PAGE_KEYS if entry.table else KEYS)]
    if entry.name in names:
        return entry
    if not entry.table and entry.name in {each.name for each in PAGE_KEYS}:
        raise entry.error(f"{entry.name} is an action of a page: write it below a line [{ACTIONS}]")
    if entry.table and entry.name in DEFAULT.by_name:
        raise entry.error(f"{entry.name} is no action of a page: write it above [{ACTIONS}]")
    near = get_close_matches(entry.name, names, n=1)
    meant = f"; did you mean {near[0]}?" if near else ";"
    raise entry.error(f"unknown action {entry.name!r}{meant} known are: {', '.join(names)}")


def _own_keys(entry: _Entry) -> tuple[str, ...]:
    keys = entry.value if isinstance(entry.value, list) else [entry.value]
    if not keys:
        raise _no_text(entry, DEFAULT.by_name[entry.name][0])
    return tuple(_key(entry, key, DEFAULT.by_name[entry.name][0]) for key in keys)


def _page_key(entry: _Entry) -> str:
    usual = next(each.key for each in PAGE_KEYS if each.name == entry.name)
    return _key(entry, entry.value, usual)


def _no_text(entry: _Entry, usual: str) -> BadKeys:
    return entry.error(f'{entry.name}: a key is a text, such as {entry.name} = "{usual}"')


def _key(entry: _Entry, key: object, usual: str) -> str:
    """Returns Textual's name of a key. Raises BadKeys when no such key can be used."""
    if not isinstance(key, str) or not key:
        raise _no_text(entry, usual)
    key = TEXTUAL_NAMES.get(key, key)
    if not KEY.fullmatch(key):
        named = ", ".join((*NAMED, *ARROWS))
        raise entry.error(
            f"{entry.name}: there is no key {key!r}; a key is one character, "
            f"ctrl+ and a character, f1 to f24, or one of {named}"
        )
    if key in REFUSED_KEYS:
        raise entry.error(
            f"{entry.name}: terminal multiplexers take {key} for themselves; take another key"
        )
    if key == QUITS and entry.name != "quit":
        raise entry.error(f"{entry.name}: {key} always quits; take another key")
    return key


def _check_own(by_name: Mapping[str, tuple[str, ...]], lines: Mapping[str, _Entry]) -> None:
    """Raises BadKeys when two of the console's own actions have one key."""
    owners: dict[str, str] = {}
    for name in lines:
        for key in by_name[name]:
            owner = owners.setdefault(key, name)
            if owner != name:
                raise lines[name].error(
                    f"key {key!r} is given to {owner} and to {name}; give one of them another key"
                )


def _check_pages(by_page_key: Mapping[PageKey, str], lines: Mapping[str, _Entry]) -> None:
    """Raises BadKeys when two actions of one screen have one key."""
    for each in (each for each in by_page_key if each.name in lines):
        for other in by_page_key:
            screens = [name for name in each.screens if name in other.screens]
            # Those that have one key by default take each other's place.
            if each.key != other.key and screens and by_page_key[each] == by_page_key[other]:
                raise lines[each.name].error(
                    f"key {by_page_key[each]!r} of {each.name} is also that of {other.name} on "
                    f"screen {screens[0]}; give one of them another key"
                )


def _check_between(
    by_name: Mapping[str, tuple[str, ...]],
    by_page_key: Mapping[PageKey, str],
    lines: Mapping[str, _Entry],
    page_lines: Mapping[str, _Entry],
) -> None:
    """Raises BadKeys when the console and a page have one key: the page's would always win."""
    owners = {key: name for name, keys in by_name.items() for key in keys}
    for each, key in by_page_key.items():
        own = owners.get(key)
        if own is None:
            continue
        free = sorted(set(ascii_letters) - owners.keys() - set(by_page_key.values()))
        texts = f"key {key!r} of {own} is also that of {each.name} (screen {each.screens[0]})"
        entry = page_lines.get(each.name) or lines[own]
        raise entry.error(f"{texts}; give one of them another key, such as {' '.join(free)}")
