"""Orders of one region, as one operator reads and changes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict, TypeVar

from replicator.config.feed_settings import Feed
from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord, Order, key_of
from tui.facts.balance_readings import is_acting
from tui.facts.watch.balance_client import BalanceClient
from tui.facts.watch.problems import answer_or_none
from tui.orders.durations import until_ms
from tui.orders.operator_events import order_events

Kind = TypeVar("Kind", bound=Order)


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of an order.

    Args:
        why: reason, as recorded.
        duration: such as 2h, after which the order ends; None when it holds until it is taken back.
    """

    why: str = ""
    duration: str | None = None


class OrderFields(TypedDict):
    """Fields that orders of every kind have."""

    route: str
    at_ms: int
    who: str
    why: str
    until_ms: int | None


AHEAD_MS_MAX = 2000
"""Difference of clocks that operators are not told of."""


@dataclass(frozen=True, slots=True)
class OrderChange:
    """Orders that an action wrote, and orders that it took back."""

    region: str
    written: tuple[Order, ...] = ()
    taken_back: tuple[Order, ...] = ()


class RegionOrders:
    """Orders of one region. Blocking.

    Order log and time are read on first use and then kept, so that an action decides on one state.

    Args:
        client: balance client of the region.
        who: operator, as recorded in orders.
        warn: receives remarks for the operator, each a line of text.
        clock: returns Unix milliseconds.
    """

    def __init__(
        self,
        client: BalanceClient,
        *,
        who: str,
        warn: Callable[[str], object],
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.client = client
        self.region = client.region
        self.who = who
        self.warn = warn
        self._clock = clock

    @cached_property
    def order_log(self) -> OrderLog:
        """Order log of the region. Raises AdminError or LogUnreadable."""
        return self.client.order_log()

    @cached_property
    def now_ms(self) -> int:
        """Time of the first access, in Unix milliseconds.

        An action that needs the order log reads it first, so that no order is newer than this time.
        """
        return self._clock()

    def active_plan(self) -> ActivePlan | None:
        """Reads the driver's active plan.

        Returns None, and warns with the reason, when no driver publishes a plan or the plan cannot
        be read.
        """
        problems: list[str] = []
        found = answer_or_none(self.client.active_plan, problems.append, ValueError)
        if found is None and not problems:
            problems = [f"no driver shows what it carries into {self.region}"]
        for problem in problems:
            self.warn(problem)
        return found

    def warn_unless_acting(self, remedy: str) -> None:
        """Warns when no balancer acts in the region, with the remedy, or its clock is ahead."""
        lease = self.order_log.lease(self.region)
        if not is_acting(lease, self.now_ms):
            self.warn(f"no balancer acts: {remedy}")
        # Not `now_ms`: it may have been taken before the lease was read.
        ahead_ms = lease.at_ms - self._clock() if lease else 0
        if ahead_ms > AHEAD_MS_MAX:
            self.warn(
                f"the balancer's clock is at least {ahead_ms // 1000} s ahead of this machine's: "
                "an order with --for ends so much earlier there"
            )

    def fields(self, about: Route | Feed, terms: Terms) -> OrderFields:
        """Returns the common fields of an order about a route or a feed; the caller adds those of
        its kind."""
        return OrderFields(
            route=about.key,
            at_ms=self.now_ms,
            who=self.who,
            why=terms.why,
            until_ms=until_ms(terms.duration, self.now_ms),
        )

    def active(self, kind: type[Kind], about: Iterable[Route | Feed]) -> list[Kind]:
        """Returns the unexpired orders of a kind about these routes or feeds."""
        order_log = self.order_log
        return [found for each in about for found in order_log.of(kind, each.key, self.now_ms)]

    def publish(
        self, new: Iterable[AnyRecord] = (), *, deleted: Iterable[AnyRecord] = ()
    ) -> OrderChange:
        """Writes new records and deletes old ones; returns the orders among both.

        Without any record nothing is written, and the cluster is not contacted.

        Raises:
            FlawedRecord, AdminError: nothing was written.
            WriteUnknown: all, some or none of the records were written.
        """
        new, deleted = list(new), list(deleted)
        if new or deleted:
            self.client.write(new, [key_of(each) for each in deleted])
        if events := order_events(self.who, self._clock(), new, deleted):
            self.client.note(events)
        return OrderChange(self.region, _orders(new), _orders(deleted))


def _orders(records: Iterable[AnyRecord]) -> tuple[Order, ...]:
    return tuple(each for each in records if isinstance(each, Order))
