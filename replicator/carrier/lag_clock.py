"""For how long a mirror is behind its source, also where the source is never quiet."""

from __future__ import annotations

from collections import deque

ENDS_MAX = 64


class LagClock:
    """One partition's. It remembers when the source was first seen to end where; so the oldest
    record that is not mirrored is known to have waited since then.

    Of a long lag it remembers less and less: the answer may then be too low, by an eighth at most.
    """

    def __init__(self) -> None:
        self._ends: deque[tuple[float, int]] = deque()
        """Times and the ends seen then, both growing; all of them behind what is mirrored."""

    def seconds(self, now: float, source_end: int, mirrored_to: int) -> float:
        """How long what follows `mirrored_to` has been there at least; 0 where nothing does.

        Args:
            now: in seconds, of any clock; not before that of the last call.
            source_end: what can be read of the source ends there.
        """
        ends = self._ends
        while ends and ends[-1][1] > source_end:
            ends.pop()  # a log that was cut
        if source_end > (ends[-1][1] if ends else mirrored_to):
            ends.append((now, source_end))
        while ends and ends[0][1] <= mirrored_to:
            ends.popleft()
        if len(ends) > ENDS_MAX:
            del ends[self._least_missed(now)]
        return now - ends[0][0] if ends else 0.0

    def _least_missed(self, now: float) -> int:
        """Which to forget: between its neighbours is the shortest time, as a part of its age."""
        times = [at for at, _ in self._ends]

        def missed(each: int) -> float:
            return (times[each + 1] - times[each - 1]) / max(now - times[each], 0.001)

        return min(range(1, len(times) - 1), key=missed)
