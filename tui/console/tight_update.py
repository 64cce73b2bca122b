"""Update of the screen in few bytes: only the cells that changed, and a style only when it changes.

Textual draws a line from its widget's left edge on, and repeats the style for each piece of text;
over a slow line that is most of what is sent. It uses private parts of Textual, whose version is
pinned, and is the one place that does so.
"""

from __future__ import annotations

import re

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate

__all__ = ["ChopsUpdate", "TightUpdate", "tight"]

STYLES = re.compile(r"(\x1b\[[0-9;]*m)")
MOVE = re.compile(r"(?:\x1b\[[0-9;]*H)+\Z")
RESET = "\x1b[0m"


class TightUpdate(ChopsUpdate):
    """Update of some spans of the screen."""

    @classmethod
    def of(cls, update: ChopsUpdate) -> TightUpdate:
        """Returns the same update, to be written in fewer bytes."""
        return cls(update.chops, update.spans, update.chop_ends)

    def render_segments(self, console: Console) -> str:
        """Returns what is written to the terminal."""
        found: list[str] = []
        for y, begin, end in self.spans:
            for x2, (x1, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x1 >= end or x2 <= begin:
                    continue
                left, right = max(x1, begin), min(x2, end)
                found.append(Control.move_to(left, y).segment.text)
                found.append(strip.crop(left - x1, right - x1).render(console))
        return tight("".join(found))


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
