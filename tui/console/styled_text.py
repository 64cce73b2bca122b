"""Styled text: pieces of a drawn line, each plain text in one tone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from tui.console.plain import fitted, plain


class StyledText(NamedTuple):
    """Text without control characters, and its tone.

    Make it by `styled` or `styled_column`, which escape data. The tone is "", "bad", "warn",
    "good", "dim", "bold", "heading", "titles", "cursor", "bar", "key", "off" or "on".
    """

    text: str
    tone: str = ""

    @property
    def width(self) -> int:
        return len(self.text) if self.text.isascii() else cell_len(self.text)


StyledLine = tuple[StyledText, ...]
MOVE_CELLS = 8
"""Unchanged cells that are drawn again rather than passed by a move of the cursor."""


def styled(text: str, tone: str = "") -> StyledText:
    """Returns any text, with its control characters escaped."""
    return StyledText(plain(text), tone)


def styled_column(text: str, width: int, tone: str = "", is_right: bool = False) -> StyledText:
    """Returns any text, cut or filled to a fixed width."""
    return StyledText(fitted(text, width, is_right), tone)


def ends(
    left: Sequence[StyledText], right: Sequence[StyledText], width: int, tone: str = ""
) -> StyledLine:
    """Returns a line with texts at both ends; the left ones are cut first."""
    room = max(0, width - sum(each.width for each in right))
    kept: list[StyledText] = []
    for each in left:
        if each.width > room:
            kept.append(StyledText(fitted(each.text, room), each.tone))
            room = 0
            break
        kept.append(each)
        room -= each.width
    return (*kept, StyledText(" " * room, tone), *right)


def changed_spans(old: StyledLine | None, new: StyledLine, width: int) -> list[tuple[int, int]]:
    """Returns (x, length) of the parts of a line that have to be drawn again."""
    if old == new:
        return []
    if old is None or [each.width for each in old] != [each.width for each in new]:
        return [(0, width)]
    spans: list[tuple[int, int]] = []
    x = 0
    for before, after in zip(old, new, strict=True):
        start, end = x, min(x + after.width, width)
        if before != after and start < width:
            # A move of the terminal's cursor costs as much as a few cells.
            if spans and sum(spans[-1]) + MOVE_CELLS >= start:
                start = spans.pop()[0]
            spans.append((start, end - start))
        x += after.width
    return spans
