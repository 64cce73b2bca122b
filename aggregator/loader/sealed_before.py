"""Records sealed before a takeover, as they are read again: each is accounted once. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aggregator.intents.intent import Intent

Ints = npt.NDArray[np.int64]


class SealedBefore:
    """Records at and above an intent's offset that were sealed when the intent was committed.

    The intent's count has them. Those that compaction removes before they are read again are no
    holes, therefore. Behind an accepted loss the count begins anew: there they are like holes.

    Args:
        intent: as it was taken over.
    """

    def __init__(self, intent: Intent) -> None:
        self._end = max((each.end for each in intent.tables.values()), default=intent.offset)
        below = intent.offset - intent.reference - intent.holes
        self._counted = intent.count - below if intent.up_to is None else 0

    def left_to_count(self, offsets: Ints, again: Sequence[Ints]) -> Ints:
        """Returns the offsets of records that are no holes.

        Args:
            offsets: of the records read, ascending.
            again: offsets of those that were sealed before, by table.
        """
        sealed = np.sort(np.concatenate(again)) if again else offsets[:0]
        counted = min(self._counted, len(sealed))
        self._counted -= counted
        if counted == len(sealed):
            return offsets
        return np.setdiff1d(offsets, sealed[counted:], assume_unique=True)

    def vanished(self, position: int) -> int:
        """Returns, once, the number of records that are gone, when all have been read again."""
        if position < self._end:
            return 0
        gone, self._counted = self._counted, 0
        return gone
