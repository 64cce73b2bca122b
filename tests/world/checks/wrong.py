"""Wrong: what a check found."""

from __future__ import annotations

from collections.abc import Sequence


class Wrong(AssertionError):
    """A history lost, repeated or reordered a record, told what is not true, or did not end.

    Args:
        log: of the history.
        deals: number of deals up to then.
    """

    def __init__(self, text: str, log: Sequence[str] = (), deals: int = 0) -> None:
        super().__init__(text)
        self.log, self.deals = log, deals
