"""Piece of a drawn line: plain text in one tone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from tui.console.plain import fitted, plain


class Piece(NamedTuple):
    """Text without control characters, and its tone.

    Make it by `piece` or `column_piece`, which escape data. The tone is "", "bad", "warn", "good",
    "dim", "bold", "heading", "titles", "cursor", "bar", "key", "off" or "on".
    """

    text: str
    tone: str = ""

    @property
    def width(self) -> int:
        return len(self.text) if self.text.isascii() else cell_len(self.text)


Pieces = tuple[Piece, ...]
MOVE_CELLS = 8
"""Unchanged cells that are drawn again rather than passed by a move of the cursor."""


def piece(text: str, tone: str = "") -> Piece:
    """Returns a piece of any text."""
    return Piece(plain(text), tone)


def column_piece(text: str, width: int, tone: str = "", is_right: bool = False) -> Piece:
    """Returns a piece of a fixed width."""
    return Piece(fitted(text, width, is_right), tone)


def ends(left: Sequence[Piece], right: Sequence[Piece], width: int, tone: str = "") -> Pieces:
    """Returns a line with pieces at both ends; the left ones are cut first."""
    room = max(0, width - sum(each.width for each in right))
    kept: list[Piece] = []
    for each in left:
        if each.width > room:
            kept.append(Piece(fitted(each.text, room), each.tone))
            room = 0
            break
        kept.append(each)
        room -= each.width
    return (*kept, Piece(" " * room, tone), *right)


def changed_spans(old: Pieces | None, new: Pieces, width: int) -> list[tuple[int, int]]:
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
