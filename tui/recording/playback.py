"""Playback: the time of a recording that belongs to a time of the clock."""

from __future__ import annotations

from dataclasses import dataclass

GAP_SECONDS_MAX = 60.0
"""Longest time without frames that is played; of a longer one only its end."""
GAP_SHOWN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Playback:
    """Playback since it was last changed. Times of the clock are seconds of any origin.

    Args:
        at: time of the recording at `since`, in Unix seconds.
        since: time of the clock.
        speed: seconds of the recording in a second of the clock; 0 stands still.
    """

    at: float
    since: float
    speed: float = 1.0

    def time(self, clock: float) -> float:
        """Returns the time of the recording."""
        return self.at + (clock - self.since) * self.speed

    def wait_seconds(self, at: float, clock: float) -> float | None:
        """Returns the seconds until a time of the recording is due; None while it stands still."""
        if not self.speed:
            return None
        return max(0.0, (at - self.time(clock)) / self.speed)

    def with_speed(self, speed: float, clock: float) -> Playback:
        """Returns the playback that goes on from here at another speed."""
        return Playback(self.time(clock), clock, speed)

    def moved(self, at: float, clock: float) -> Playback:
        """Returns the playback that goes on from another time of the recording."""
        return Playback(at, clock, self.speed)

    def without_gap(self, shown_at: float, next_at: float, clock: float) -> Playback:
        """Returns the playback that is shortly before the next frame, if that is far away.

        Args:
            shown_at, next_at: times of the frame that is shown, and of the next one.
        """
        soon = next_at - GAP_SHOWN_SECONDS * self.speed
        if next_at - shown_at <= GAP_SECONDS_MAX or self.time(clock) >= soon:
            return self
        return self.moved(soon, clock)
