"""Balance client without servers, for tests of actions and commands."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.config.topology import KafkaCluster
from replicator.notices.event import Event
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord
from replicator.runtime.store_errors import StoreUnreachable
from tests.tui.balance_records import NOW_MS, log_of
from tui.facts.watch.balance_client import BalanceClient
from tui.orders.region_orders import RegionOrders


class RecordingClient(BalanceClient):
    """Balance client of region east with a fixed order log, which keeps what is written.

    Args:
        plan: the driver's active plan; an error is raised instead.
    """

    def __init__(self, *records: AnyRecord, plan: ActivePlan | StoreUnreachable | None = None):
        self.region, self.name = "east", "east aggregate"
        self.cluster = KafkaCluster(bootstrap=["127.0.0.1:1"])
        self.records, self.plan = records, plan
        self.written: list[AnyRecord] = []
        self.deleted: list[bytes] = []
        self.writes = 0
        self.events: list[Event] = []

    def order_log(self) -> OrderLog:
        return log_of(*self.records)

    def active_plan(self) -> ActivePlan | None:
        if isinstance(self.plan, StoreUnreachable):
            raise self.plan
        return self.plan

    def note(self, events: Iterable[Event]) -> None:
        self.events += events

    def write(self, records: Iterable[AnyRecord], deleted: Iterable[bytes] = ()) -> None:
        self.writes += 1
        self.written += records
        self.deleted += deleted


def orders_of(client: BalanceClient, warnings: list[str] | None = None) -> RegionOrders:
    """Returns orders of `ann@ops` at NOW_MS; warnings are appended to the list."""
    warn = [].append if warnings is None else warnings.append
    return RegionOrders(client, who="ann@ops", warn=warn, clock=lambda: NOW_MS)
