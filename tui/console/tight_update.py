"""Update of the screen in few bytes: a style is sent only when it changes.

Textual repeats the style for each piece of text; over a slow line that is most of what is sent.
"""

from __future__ import annotations

import re

STYLES = re.compile(r"(\x1b\[[0-9;]*m)")
MOVE = re.compile(r"(?:\x1b\[[0-9;]*H)+\Z")
RESET = "\x1b[0m"


def tight(text: str) -> str:
    """Returns what draws the same, without a style that is in force already."""
    found: list[str] = []
    active = wanted = RESET
    for token in STYLES.split(text):
        if STYLES.fullmatch(token):
            wanted = token
        elif token:
            # A move draws nothing, whatever the style is.
            if wanted != active and not MOVE.fullmatch(token):
                found.append(wanted if active == RESET or wanted == RESET else _instead(wanted))
                active = wanted
            found.append(token)
    return "".join(found) + ("" if active == RESET else RESET)


def _instead(style: str) -> str:
    """Returns the sequence of a style that takes the place of another."""
    return f"\x1b[0;{style.removeprefix(chr(27) + '[')}"
