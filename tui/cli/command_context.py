"""Command context of the balancing commands: selected routes, options, balance client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, TypedDict, TypeVar

from tui.cli.options import (
    SERVER_SECONDS,
    chosen,
    one_route_option,
    region_option,
    route_option,
)
from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_option, emit

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route
    from replicator.orders.order_log import OrderLog
    from replicator.orders.order_records import AnyRecord, Order
    from tui.state.balance_client import BalanceClient

Kind = TypeVar("Kind", bound="Order")


class Said(TypedDict):
    """Fields that orders of every kind have."""

    route: str
    at_ms: int
    who: str
    why: str
    until_ms: int | None


@dataclass(frozen=True, kw_only=True)
class CommandContext:
    """Context of one run of a balancing command. Blocking.

    Each property is read on first use. Mistakes on the command line are therefore reported before
    the configuration is opened, and mistakes in the configuration before a server is contacted.

    Args:
        config: path of the configuration file.
        region_name, route_name: as typed; `region` and `routes` are derived from them.
        timeout_seconds: for each server.
        output: table, json or yaml.
        reason, holds_for: None when not given, or when the command has no such option.
    """

    config: str
    region_name: str | None
    route_name: str | None
    timeout_seconds: float
    output: str
    reason: str | None
    holds_for: str | None

    @cached_property
    def appliance(self) -> Appliance:
        from replicator.config.topology import load

        return load(self.config)

    @property
    def region(self) -> str:
        return self._chosen[0]

    @property
    def routes(self) -> tuple[Route, ...]:
        return self._chosen[1]

    @property
    def route(self) -> Route:
        """Route of a command that takes exactly one."""
        (route,) = self.routes
        return route

    @cached_property
    def client(self) -> BalanceClient:
        from tui.state.balance_client import BalanceClient

        return BalanceClient(self.appliance, self.region, self.timeout_seconds)

    @cached_property
    def book(self) -> OrderLog:
        """Order log of the region. Raises AdminError or LogUnreadable."""
        return self.client.book()

    @cached_property
    def now_ms(self) -> int:
        """Time of the first access, in Unix milliseconds.

        A command that needs the order log reads it first, so that no order is newer than this time.
        """
        return time.time_ns() // 1_000_000

    @cached_property
    def who(self) -> str:
        from tui.actions.operator import operator

        return operator()

    def said(self, route: Route) -> Said:
        """Returns the common fields of an order for a route; the caller adds those of its kind."""
        from tui.actions.durations import until_ms

        return Said(
            route=route.key,
            at_ms=self.now_ms,
            who=self.who,
            why=self.reason or "",
            until_ms=until_ms(self.holds_for, self.now_ms),
        )

    def standing(self, kind: type[Kind]) -> list[Kind]:
        """Returns the unexpired orders of a kind on the selected routes."""
        book = self.book
        return [each for route in self.routes for each in book.of(kind, route.key, self.now_ms)]

    def give(
        self,
        orders: Iterable[AnyRecord] = (),
        *,
        taken_back: Iterable[AnyRecord] = (),
        nothing: str = "nothing was changed",
    ) -> int:
        """Writes new records and removes old ones, then prints the orders among both.

        Args:
            orders: records to write.
            taken_back: records to remove.
            nothing: text for people when no order was written or removed.
        """
        from replicator.orders.order_records import Order, key_of
        from tui.cli.views.order_view import changes_text, changes_values

        new, old = list(orders), list(taken_back)
        if new or old:
            self.client.write(new, [key_of(each) for each in old])
        written: list[Order] = [each for each in new if isinstance(each, Order)]
        gone: list[Order] = [each for each in old if isinstance(each, Order)]
        emit(
            self.output,
            changes_values(self.region, written, gone),
            lambda: changes_text(written, gone, nothing),
        )
        return ExitCode.DONE

    @cached_property
    def _chosen(self) -> tuple[str, tuple[Route, ...]]:
        return chosen(self.appliance, self.region_name, self.route_name)


OnErrand = Callable[Concatenate[CommandContext, ...], int]
"""Command function: takes the command context, then its own options by name."""


def on_one_route(command: OnErrand) -> Callable[..., int]:
    """Adds --config, --region and a required --route before the command's own options."""
    return config_option(region_option(one_route_option(_sent(command))))


def on_routes(command: OnErrand) -> Callable[..., int]:
    """Adds --config, --region and an optional --route, which defaults to all into the region."""
    return config_option(region_option(route_option(_sent(command))))


def _sent(command: OnErrand) -> Callable[..., int]:
    @wraps(command)
    def sent(
        *,
        config: str,
        region: str | None,
        route_name: str | None,
        output: str,
        # Commands without an option for these get the defaults.
        timeout: float = SERVER_SECONDS,
        reason: str | None = None,
        holds_for: str | None = None,
        **own: object,
    ) -> int:
        context = CommandContext(
            config=config,
            region_name=region,
            route_name=route_name,
            timeout_seconds=timeout,
            output=output,
            reason=reason,
            holds_for=holds_for,
        )
        return command(context, **own)

    return sent
