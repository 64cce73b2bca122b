"""Shrinking of a wrong history: the fewest deals with which it is still wrong.

Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def shrunk(deals: Sequence[int], is_wrong: Callable[[Sequence[int]], bool]) -> list[int]:
    """Returns deals without which the history is not wrong.

    Args:
        deals: of the history that is wrong.
        is_wrong: plays the history with these deals alone; returns True if it is wrong.
    """
    kept, parts = list(deals), 2
    while kept:
        size = max(1, len(kept) // parts)
        starts = range(0, len(kept), size)
        rests = ([*kept[:at], *kept[at + size :]] for at in starts)
        rest = next((it for it in rests if is_wrong(it)), None)
        if rest is not None:
            kept, parts = rest, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(parts * 2, len(kept))
    return kept
