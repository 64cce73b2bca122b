"""Plain text of a fixed width: data made harmless before it is drawn.

All text of data passes `plain` or `fitted`: an escape of a terminal, a newline or a bidi override
in a name is shown as \\x1b, \\n or \\u202e.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from replicator.runtime.plain_text import one_line as plain

__all__ = ["fitted", "plain", "wrapped"]

CUT = "…"


def fitted(text: str, width: int, is_right: bool = False) -> str:
    """Returns the text, without control characters, exactly `width` terminal cells wide."""
    text = plain(text)
    size = len(text) if text.isascii() else cell_len(text)
    if size > width:
        text = set_cell_size(text, width - 1) + CUT if width > 0 else ""
        size = width
    blank = " " * (width - size)
    return blank + text if is_right else text + blank


def wrapped(text: str, width: int) -> list[str]:
    """Returns the text as lines of at most `width` cells, cut between words where possible."""
    lines: list[str] = []
    line = ""
    for word in plain(text).split(" "):
        while cell_len(word) > width:
            lines += [line] if line else []
            head = set_cell_size(word, width).rstrip(" ") or word[:1]
            lines.append(head)
            line, word = "", word[len(head) :]
        joined = f"{line} {word}" if line else word
        if cell_len(joined) > width:
            lines.append(line)
            line = word
        else:
            line = joined
    return [*lines, line] if line or not lines else lines
