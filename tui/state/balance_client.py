"""Client for one region's balancing data: the topic `sluice.balance` and the region's Redis."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import closing

from replicator.config.topology import Appliance, Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from tui.cli.options import warn
from tui.state.balance_status import BalanceStatus
from tui.state.problems import found_or_noted


class BalanceClient:
    """Balance client of one region: the order log, and the status that driver and balancer publish.

    Blocking.
    """

    def __init__(self, appliance: Appliance, region: str, timeout_seconds: float) -> None:
        self.region = region
        self.name = f"{region} aggregate"
        self._settings = appliance.region(region)
        self.cluster = self._settings.aggregate
        self._timeout_seconds = timeout_seconds
        self._log = BalanceLog(self.name, self.cluster, timeout_seconds)

    def book(self) -> OrderLog:
        """Returns the order log as it stands now. Raises AdminError or LogUnreadable."""
        return self._log.read()

    def write(self, records: Iterable[AnyRecord], taken_back: Iterable[bytes] = ()) -> None:
        """Writes records to the order log, and tombstones for the keys in `taken_back`.

        Raises:
            FlawedRecord, AdminError: nothing was written.
            WriteUnknown: all, some or none of the records were written.
        """
        self._log.write(records, taken_back)

    def carried(self) -> ActivePlan | None:
        """Returns the driver's active plan from Redis.

        Returns None, and prints the reason on stderr, when no driver publishes a plan or the plan
        cannot be read.
        """
        problems: list[str] = []
        found = found_or_noted(self._plan, problems.append, ValueError)
        if found is None and not problems:
            problems = [f"no driver shows what it carries into {self.region}"]
        for problem in problems:
            warn(problem)
        return found

    def look(self, routes: Sequence[Route]) -> BalanceStatus:
        """Reads order log and Redis into one status; each failed read becomes a problem."""
        problems: list[str] = []
        book = found_or_noted(self.book, problems.append, ValueError)
        rounds = found_or_noted(self._rounds, problems.append, ValueError)
        in_force = found_or_noted(self._plan, problems.append, ValueError)
        return BalanceStatus(
            region=self.region,
            routes=tuple(routes),
            # The clock is read last, so that nothing found is newer than now_ms.
            now_ms=time.time_ns() // 1_000_000,
            book=book,
            rounds=rounds,
            in_force=in_force,
            problems=tuple(dict.fromkeys(problems)),
        )

    def _plan(self) -> ActivePlan | None:
        with closing(self._board()) as board:
            return board.plan()

    def _rounds(self) -> tuple[RoundStatus, ...]:
        with closing(self._board()) as board:
            return tuple(board.rounds())

    def _board(self) -> StatusBoard:
        timeout_seconds = min(self._timeout_seconds, 5.0)
        return StatusBoard(self._settings.redis_url(), self.region, timeout_seconds)
