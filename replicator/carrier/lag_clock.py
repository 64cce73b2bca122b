"""For how long a mirror is behind its source, also where the source is never quiet."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.ledger.sightings import (
    FRESH_MS,
    Ends,
    Sighting,
    Sightings,
    arrived_ms,
    high_ends,
    lag_seconds,
    least_missed,
    stable_ends,
)

SIGHTINGS_MAX = 64


class LagClock:
    """A partition's sightings of its source's ends, and the lag that follows from them.

    It begins with the sightings that the carrier before it left in the ledger. Of a long lag it
    remembers less and less: without useful timestamps the answer may then be too high, by an
    eighth at most.

    Times are in unix seconds, of the clock of the host that calls.

    Args:
        sightings: of the carrier before this one; ascending.
    """

    def __init__(self, sightings: Iterable[Sighting] = ()) -> None:
        self._seen = list(sightings)
        self._stable: list[Ends] | None = None

    @property
    def sightings(self) -> Sightings:
        """All that is remembered, for the ledger."""
        return tuple(self._seen)

    def see(self, at: float, stable: int, high: int) -> None:
        """The source ends there.

        Args:
            at: when that was told.
        """
        self._stable = None
        at_ms, high = round(at * 1000), max(high, stable)
        self._follow_back(at_ms, stable, high)
        last = self._seen[-1] if self._seen else None
        if last and (last.stable, last.high) == (stable, high):
            self._seen[-1] = last._replace(last_ms=max(at_ms, last.last_ms))
        else:
            self._seen.append(Sighting(at_ms, at_ms, stable, high))
        if len(self._seen) > SIGHTINGS_MAX:
            del self._seen[least_missed(self._seen, at_ms)]

    def forget(self, mirrored_to: int) -> None:
        """Drops the sightings before the newest one whose high watermark is at or below this."""
        self._stable = None
        passed = 0
        while passed + 1 < len(self._seen) and self._seen[passed + 1].high <= mirrored_to:
            passed += 1
        del self._seen[:passed]

    def lag_seconds(
        self, now: float, mirrored_to: int, written_ms: int | None = None
    ) -> float | None:
        """How long the record at this offset could have been read; None: not known.

        Args:
            written_ms: its timestamp.
        """
        return lag_seconds(self._stable_ends(), mirrored_to, round(now * 1000), written_ms)

    def written_lag_seconds(
        self, now: float, mirrored_to: int, written_ms: int | None = None
    ) -> float | None:
        """The same, also while the record belongs to an open transaction or lies behind one."""
        return lag_seconds(high_ends(self._seen), mirrored_to, round(now * 1000), written_ms)

    def open_transaction_seconds(self, now: float) -> float | None:
        """How long the record at the last stable offset has waited for a transaction's end.

        None where nobody has looked lately: a source that is away holds no transaction open.
        """
        if not self._seen or round(now * 1000) - self._seen[-1].last_ms > FRESH_MS:
            return None
        return self.written_lag_seconds(now, self._seen[-1].stable)

    def readable_ms(self, fetched_at: float, offset: int, written_ms: int) -> int:
        """When a record that was fetched at a time could be read first."""
        return arrived_ms(self._stable_ends(), offset, round(fetched_at * 1000), written_ms)

    def _stable_ends(self) -> list[Ends]:
        # Asked for every batch, and the same from one look to the next.
        if self._stable is None:
            self._stable = stable_ends(self._seen)
        return self._stable

    def _follow_back(self, at_ms: int, stable: int, high: int) -> None:
        """Lowers earlier sightings when the clock or the log's end goes back: the clock of another
        host may be ahead, a log may be cut, a new leader may know a lower end for a moment."""
        if self._seen and (
            self._seen[-1].last_ms > at_ms
            or self._seen[-1].stable > stable
            or self._seen[-1].high > high
        ):
            self._seen = [
                Sighting(
                    min(each.first_ms, at_ms),
                    min(each.last_ms, at_ms),
                    min(each.stable, stable),
                    min(each.high, high),
                )
                for each in self._seen
            ]
