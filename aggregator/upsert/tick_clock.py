"""Tick clock: the clock of this host, as long as a server of the store has about the same time.

The time of a tick says which records are too old for the table, which are too far in the future,
and which days are deleted; and times of ticks never go back. A host whose clock is a month ahead
would have the table forget a month, for good. So a clock that no server agrees with cuts no tick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from aggregator.store.replica import Connected
from aggregator.store.shard_store import NotStored, ShardStore
from replicator.runtime.clock import monotonic, unix_seconds

COMPARE_SECONDS = 60.0
"""Pause before a server is asked for its time again; until then the time goes on by our steady
clock, which no one sets."""
RETENTION_PART = 20
"""The clock may differ by one of so many parts of the retention."""
SERVER_TIME = "SELECT toInt64(toUnixTimestamp(now()))"


def differs_seconds_max(future_seconds_max: float, retention_hours: float) -> float:
    """Returns the difference of clocks that is let pass, in seconds: it makes no dead letter of a
    record that has the store's time, and takes little of the retention."""
    return min(future_seconds_max, retention_hours * 3600 / RETENTION_PART)


class ClockDiffers(Exception):
    """The clock of this host differs from those of all servers of the store. Set it right."""


class ServerTime(NamedTuple):
    """Time that a server had.

    Args:
        server: its address.
        unix_seconds: its time.
        at_seconds: when it was asked, on the steady clock of this process.
    """

    server: str
    unix_seconds: float
    at_seconds: float

    def ahead_seconds(self, host_seconds: float, at_seconds: float) -> float:
        """Returns by how much a time of this host is ahead of the server's; negative if behind.

        Args:
            host_seconds: Unix time of this host.
            at_seconds: when that was, on the steady clock of this process.
        """
        return host_seconds - (self.unix_seconds + at_seconds - self.at_seconds)


def difference_text(times: list[ServerTime], host_seconds: float, at_seconds: float) -> str:
    """Returns what is wrong with the clock of this host, for an operator.

    Args:
        host_seconds, at_seconds: see ServerTime.ahead_seconds.
    """
    found = [(each.server, each.ahead_seconds(host_seconds, at_seconds)) for each in times]
    told = ", ".join(
        f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} {server}"
        for server, ahead in found
    )
    return (
        f"the clock of this host is {told}, more than is let pass: by such a clock records "
        "would be left out as too old, or too far in the future. No tick is cut until they agree: "
        "set the clock that is wrong"
    )


@dataclass(eq=False)
class TickClock:
    """Clock of a table's ticks.

    Args:
        store: whose servers are asked.
        differs_seconds_max: difference that is let pass.
        wall, steady: Unix time of this host, and a clock that no one sets; in seconds.
    """

    store: ShardStore
    differs_seconds_max: float
    wall: Callable[[], float] = unix_seconds
    steady: Callable[[], float] = monotonic
    _agreed: ServerTime | None = field(init=False, default=None)

    def now_ms(self) -> int:
        """Returns the Unix time in milliseconds. Blocks while servers are asked, once a minute.

        Raises:
            ClockDiffers: no server that answers has about this time.
            NotStored: no server answers, and none did before.
        """
        last = self._agreed
        if (
            last is None
            or self.steady() - last.at_seconds >= COMPARE_SECONDS
            or self._differs(last)
        ):
            self._agreed = self._compared() or last
        return round(self.wall() * 1000)

    def _compared(self) -> ServerTime | None:
        """Returns the time of a server that agrees; None if no server answers, and one agreed
        before."""
        times: list[ServerTime] = []
        errors: list[NotStored] = []
        for replica in self.store.in_turn():
            asked_at = self.steady()
            try:
                found = self.store.answer_of(replica, _server_time)
            except NotStored as error:
                errors.append(error)
                continue
            times.append(ServerTime(str(replica), found, asked_at))
            if not self._differs(times[-1]):
                return times[-1]
        known = times or [each for each in [self._agreed] if each is not None]
        if not known:
            raise errors[-1]
        if all(self._differs(each) for each in known):
            raise ClockDiffers(difference_text(known, self.wall(), self.steady()))
        return None

    def _differs(self, server: ServerTime) -> bool:
        ahead = server.ahead_seconds(self.wall(), self.steady())
        return abs(ahead) > self.differs_seconds_max


def _server_time(it: Connected) -> float:
    [(seconds,)] = it.client.execute(SERVER_TIME)
    return float(seconds)
