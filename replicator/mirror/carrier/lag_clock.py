"""Lag clock: for how long a mirror has been behind its source, even if the source never pauses."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.mirror.ledger.sightings import (
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
    """Sightings of one source partition's ends, and the lag that follows from them.

    The clock begins with the sightings that the previous carrier left in the ledger. It thins out
    the sightings of a long lag. If record timestamps are not usable, the lag may then be too high
    by up to an eighth.

    All times are unix seconds of the calling host's clock.

    Args:
        sightings: of the previous carrier; ascending.
    """

    def __init__(self, sightings: Iterable[Sighting] = ()) -> None:
        self._seen = list(sightings)
        self._stable: list[Ends] | None = None

    @property
    def sightings(self) -> Sightings:
        """All remembered sightings, for the ledger."""
        return tuple(self._seen)

    @property
    def stable_end(self) -> int | None:
        """Last stable offset of the last sighting."""
        return self._seen[-1].stable if self._seen else None

    def see(self, at: float, stable: int, high: int) -> None:
        """Adds a sighting of the source's ends.

        Args:
            at: time at which the source reported the ends.
            stable: last stable offset.
            high: high watermark.
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
        """Drops sightings before the newest one whose high watermark `mirrored_to` has reached."""
        self._stable = None
        passed = 0
        while passed + 1 < len(self._seen) and self._seen[passed + 1].high <= mirrored_to:
            passed += 1
        del self._seen[:passed]

    def lag_seconds(
        self, now: float, mirrored_to: int, written_ms: int | None = None
    ) -> float | None:
        """Returns for how long the record at `mirrored_to` has been readable; None if unknown.

        Args:
            mirrored_to: next source offset to mirror.
            written_ms: timestamp of that record.
        """
        return lag_seconds(self._stable_ends(), mirrored_to, round(now * 1000), written_ms)

    def written_lag_seconds(
        self, now: float, mirrored_to: int, written_ms: int | None = None
    ) -> float | None:
        """Returns the lag against the high watermark instead of the last stable offset.

        It also counts records that an open transaction holds back.
        """
        return lag_seconds(high_ends(self._seen), mirrored_to, round(now * 1000), written_ms)

    def open_transaction_seconds(self, now: float) -> float | None:
        """Returns for how long the record at the last stable offset has waited for a marker.

        Returns None if the ends were not seen lately: the source may be unreachable, which says
        nothing about transactions.
        """
        if not self._seen or round(now * 1000) - self._seen[-1].last_ms > FRESH_MS:
            return None
        return self.written_lag_seconds(now, self._seen[-1].stable)

    def readable_ms(self, fetched_at: float, offset: int, written_ms: int) -> int:
        """Returns when a fetched record became readable at the source, in unix milliseconds.

        Args:
            fetched_at: time of the fetch, in seconds.
            offset: source offset of the record.
            written_ms: timestamp of the record.
        """
        return arrived_ms(self._stable_ends(), offset, round(fetched_at * 1000), written_ms)

    def _stable_ends(self) -> list[Ends]:
        # Cached: needed for every batch, and constant between two sightings.
        if self._stable is None:
            self._stable = stable_ends(self._seen)
        return self._stable

    def _follow_back(self, at_ms: int, stable: int, high: int) -> None:
        """Lowers earlier sightings when the clock or an end goes back.

        The previous host's clock may be ahead, a log may be truncated, or a new leader may report a
        lower end for a moment.
        """
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
