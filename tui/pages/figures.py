"""Figures of a page as text: numbers, times, rates, sparklines. Unknown is "?", never 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from tui.pages.page import Cell

UNKNOWN = "?"
NONE = "-"
"""Text for a value that does not exist; an unknown value is ?."""
MIB = 1 << 20
BARS = "▁▂▃▄▅▆▇█"
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def short(number: float | None) -> str:
    """Returns a count in at most five characters or so: 999, 8.7k, 47.1k, 1.2M."""
    if number is None:
        return UNKNOWN
    size = abs(number)
    for unit, name in UNITS:
        if size >= unit:
            return f"{number / unit:.1f}{name}"
    return f"{number:.0f}"


def whole(number: int | None) -> str:
    """Returns an offset with all its digits: 1,204,998."""
    return UNKNOWN if number is None else f"{number:,}"


def digits(number: float | None) -> str:
    """Returns a number with all its digits, for a cell's full text: 47103; a rate as 1210.0."""
    if number is None:
        return UNKNOWN
    return str(number) if isinstance(number, int) else f"{number:.1f}"


def offset_width(title: str, offsets: Iterable[int | None]) -> int:
    """Returns the width of a column of offsets: none of them may be cut."""
    most = max((offset for offset in offsets if offset is not None), default=0)
    return max(len(title), len(whole(most)))


def seconds(value: float | None) -> str:
    """Returns seconds: 0.3, 12.3, 340."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def megabytes(value: float | None) -> str:
    """Returns bytes as megabytes: 8.8."""
    return UNKNOWN if value is None else f"{value / 1e6:.1f}"


def mebibytes(value: float | None) -> str:
    """Returns bytes as MiB: 3.1."""
    return UNKNOWN if value is None else f"{value / MIB:.1f}"


def duration(value: float | None) -> str:
    """Returns a time to go: 0 s, 40 s, 5 min, 3 h."""
    if value is None:
        return UNKNOWN
    if value < 100:
        return f"{value:.0f} s"
    if value < 6000:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.0f} h" if value < 360_000 else f"{value / 86400:.0f} d"


def per_second(value: float | None) -> str:
    """Returns a change with its sign: +120/s, -3.4k/s."""
    if value is None:
        return UNKNOWN
    text = short(value)
    return "0/s" if text in ("0", "-0") else f"{text}/s" if value < 0 else f"+{text}/s"


def number_cell(text: str, value: float | None, tone: str = "", full: str = "") -> Cell:
    """Returns a cell of a number; unknown is "?" and sorts worst."""
    return Cell(text, "warn" if value is None else tone, value, full)


def count_cell(number: float | None, tone: str = "") -> Cell:
    """Returns a cell of a count: short on the screen, with all its digits where there is room."""
    return number_cell(short(number), number, tone, digits(number))


def whole_cell(number: int | None) -> Cell:
    """Returns a cell of an offset or a count, 1,204,998; its full text has no commas."""
    return number_cell(whole(number), number, full=digits(number))


def digits_cell(number: int | None, tone: str = "") -> Cell:
    """Returns a cell of a small number or one that names something, without commas."""
    return number_cell(digits(number), number, tone)


def seconds_cell(value: float | None) -> Cell:
    """Returns a cell of seconds."""
    return number_cell(seconds(value), value, full=digits(value))


def megabytes_cell(size: float | None) -> Cell:
    """Returns a cell of bytes as megabytes; its full text tells every byte."""
    full = UNKNOWN if size is None else f"{size / 1e6:.6f}"
    return number_cell(megabytes(size), size, full=full)


def text_cell(text: str, tone: str = "") -> Cell:
    """Returns a cell that sorts by its text."""
    return Cell(text, tone, text)


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Returns the last values as bars, one for several where they are more than `width`.

    The bar is the largest of its values. Unknown is "?"; before the first known value, blank.
    """
    values = [None if value is None or not isfinite(value) else value for value in values]
    while values and values[0] is None:
        values = values[1:]
    each = max(1, -(-len(values) // width))
    first = len(values) % each
    groups = ([values[:first]] if first else []) + [
        values[at : at + each] for at in range(first, len(values), each)
    ]
    tops = [max((value for value in group if value is not None), default=None) for group in groups]
    most = max((top for top in tops if top is not None), default=0.0)
    return "".join(_bar(top, most) for top in tops).rjust(width)


def _bar(value: float | None, most: float) -> str:
    if value is None:
        return UNKNOWN
    if most <= 0:
        return BARS[0]
    return BARS[min(len(BARS) - 1, int(value / most * (len(BARS) - 1) + 0.5))]
