"""Client for one region's balancing data: the topic `sluice.balance` and the region's Redis."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import closing

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.listening import check_listening
from replicator.notices.event import Event
from replicator.notices.noting import note_events
from replicator.orders.active_plan import ActivePlan
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from tui.facts.balance_readings import BalanceReadings
from tui.facts.watch.inquiry import Inquiry


class BalanceClient:
    """Balance client of one region: the order log, and the status that driver and balancer publish.

    Blocking.
    """

    def __init__(self, appliance: Appliance, region: str, timeout_seconds: float) -> None:
        self.region = region
        self.name = ClusterName.aggregate(region)
        self._settings = appliance.region(region)
        self.cluster = self._settings.aggregate
        self._timeout_seconds = timeout_seconds
        self._log = BalanceLog(self.name, self.cluster, timeout_seconds)

    def order_log(self) -> OrderLog:
        """Returns the order log as it stands now. Raises AdminError or LogUnreadable."""
        check_listening(self.name, self.cluster)
        return self._log.read()

    def write(self, records: Iterable[AnyRecord], deleted: Iterable[bytes] = ()) -> None:
        """Writes records to the order log, and tombstones for the keys in `deleted`.

        Raises:
            FlawedRecord, AdminError: nothing was written.
            WriteUnknown: all, some or none of the records were written.
        """
        self._log.write(records, deleted)

    def note(self, events: Iterable[Event]) -> None:
        """Notes events of the operator in the region's Redis, if it answers."""
        note_events(self._settings, events)

    def active_plan(self) -> ActivePlan | None:
        """Returns the driver's active plan from Redis; None when no driver publishes one.

        Raises StoreUnreachable, or ValueError when the plan cannot be decoded.
        """
        with closing(self._board()) as board:
            return board.plan()

    def readings(self, routes: Sequence[Route]) -> BalanceReadings:
        """Reads order log and Redis; each failed read becomes a problem."""
        inquiry = Inquiry(self._timeout_seconds, ValueError)
        redis = f"{self.region} Redis"
        asked_orders = inquiry.ask(self.name, self.order_log)
        asked_rounds = inquiry.ask(redis, self._rounds)
        asked_plan = inquiry.ask(redis, self.active_plan)
        order_log, rounds = asked_orders.answer(), asked_rounds.answer()
        active_plan = asked_plan.answer()
        return BalanceReadings(
            region=self.region,
            routes=tuple(routes),
            # The clock is read last, so that nothing found is newer than now_ms.
            now_ms=time.time_ns() // 1_000_000,
            order_log=order_log,
            rounds=rounds,
            active_plan=active_plan,
            problems=tuple(dict.fromkeys(inquiry.problems.values())),
            is_plan_read=redis not in inquiry.problems,
        )

    def _rounds(self) -> tuple[RoundStatus, ...]:
        with closing(self._board()) as board:
            return tuple(board.rounds())

    def _board(self) -> StatusBoard:
        timeout_seconds = min(self._timeout_seconds, 5.0)
        return StatusBoard(self._settings.redis_url(), self.region, timeout_seconds)
